"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

BlueprintArgument = Annotated[
    str,
    typer.Argument(
        metavar="BLUEPRINT",
        help="A blueprint file, or the name of a bundled one.",
        show_default=False,
    ),
]


def _set(what: str, example: str) -> Any:
    return typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help=f"{what}, as in {example}; may be repeated.",
        show_default=False,
    )


Overrides = Annotated[
    list[str] | None, _set("Change one value of the blueprint", "model.d_model=256")
]
FileOverrides = Annotated[
    list[str] | None,
    _set("Change export.* or generation.* in this file alone", "generation.max_length.plus=10"),
]
EvaluationOverrides = Annotated[
    list[str] | None,
    _set("Say where the run's pairs are, or change generation.*", "data.test.path=FILE"),
]
GenerationOverrides = Annotated[
    list[str] | None, _set("Change generation.* for this call alone", "generation.beams=8")
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
