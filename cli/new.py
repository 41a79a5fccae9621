"""`transom new`: a blueprint to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.streams import write_results


def new(
    table: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Measure this table, columns 1 and 2, and choose what suits it.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The file to write; stdout unless given.", show_default=False
        ),
    ] = None,
) -> None:
    """Write a commented blueprint to start from; an existing file stays as it is."""
    from builder.draft import draft_blueprint, write_new

    text = draft_blueprint(table, out=out)
    if out is None:
        write_results([text.rstrip("\n")])
    else:
        write_new(out, text)
        write_results([str(out)])
