"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

BlueprintArgument = Annotated[
    str,
    typer.Argument(
        metavar="BLUEPRINT",
        help="A blueprint file, or the name of a bundled one.",
        show_default=False,
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change one value of the blueprint, as in model.d_model=256; may be repeated.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Model = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="An exported ONNX file or a run folder."),
]
Threads = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=1000,
        help="Processor threads; one for each core unless given.",
        show_default=False,
    ),
]
