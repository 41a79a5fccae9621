"""`transom export`: a trained run into one ONNX file, or two where one cannot hold it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.options import FileOverrides
from cli.streams import note, write_results


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file to write; RUN/NAME.onnx unless given."),
    ] = None,
    overrides: FileOverrides = None,
    precision: Annotated[
        str | None,
        typer.Option(
            metavar="WORD",
            help="float32, float16 or int8: --set export.precision=WORD.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write a run as one ONNX file that is proved equal to PyTorch.

    Nothing takes the file's name before. --set changes this file alone; the run stays as it is.
    """
    from builder.export.export import export_run

    more = [] if precision is None else [f"export.precision={precision}"]
    done = export_run(run, out=out, overrides=[*(overrides or ()), *more], say=note)
    ties = f", {done.proof.near_ties} by a near tie" if done.proof.near_ties else ""
    note(
        f"{done.size_bytes:,} bytes, {done.parameter_bytes:,} of them parameters; proved: "
        f"{done.proof.lines} lines come out as in PyTorch{ties}, "
        f"logits within {done.proof.logits_difference:.1e}"
    )
    if done.side is not None:
        note("the weights do not fit into one ONNX file: both files belong together, side by side")
    write_results([str(path) for path in (done.path, done.side) if path is not None])
