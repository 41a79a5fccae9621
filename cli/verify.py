"""`transom verify`: an exported file into the proof that it still does what it did."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from builder.wording import counted
from cli.options import Json, Threads
from cli.streams import note, write_results

if TYPE_CHECKING:
    from collections.abc import Iterator

    from builder.runtime.verify import Verification

SHOWN = 10
"""Differences that are told; --json has all."""


def verify(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="An exported ONNX file.", show_default=False)
    ],
    as_json: Json = False,
    threads: Threads = None,
) -> None:
    """Check that an exported file is whole and writes here what it wrote at export.

    Needs the file alone. Exit code 1 where its content or what it writes is another.
    """
    from builder.errors import ProofFailure, printable
    from builder.runtime.verify import verify as verify_file

    result = verify_file(file, threads=threads)
    differences = result.differences
    if as_json:
        write_results([json.dumps(asdict(result), ensure_ascii=False)])
    elif not differences:
        write_results(_report(result))
    for text in differences[:SHOWN]:
        note(text)
    if differences:
        raise ProofFailure(
            f"{printable(file.absolute())}: {counted(len(differences), 'difference')} from what it "
            f"wrote at export, in {counted(result.samples, 'sample')}"
        )


def _report(result: Verification) -> Iterator[str]:
    yield "the content is what the digest was made of"
    yield (
        f"{counted(result.samples, 'sample')}: tokens as at export, scores within "
        f"{result.scores_difference:.1e}"
    )
    told = result.export
    yield (
        f"at export, PyTorch and the file were compared on {_short(told.get('lines'))} lines: "
        f"{_short(told.get('equal'))} equal, {_short(told.get('near_ties'))} parted at a near tie; "
        f"logits within {_short(told.get('logits_difference'))}, scores within "
        f"{_short(told.get('scores_difference'))}"
    )
    if isinstance(precision := told.get("precision"), dict):
        plain = ((k, v) for k, v in precision.items() if isinstance(v, str | int | float))
        parts = (f"{_short(name)} {_short(value)}" for name, value in plain)
        yield f"then its numbers were narrowed, beside the file in float32: {', '.join(parts)}"
    if not told.get("varied"):
        yield "the model wrote the same for every line, so that equality shows little"


def _short(value: object) -> str:
    from builder.errors import printable

    return f"{value:.3g}" if isinstance(value, float) else printable(str(value))
