"""A run or a package and two files of parallel lines into how likely it finds each target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from builder.data.files import read_lines
from builder.errors import DataError, printable
from builder.text.lines import LINES_AT_ONCE
from builder.text.output import Scored
from builder.writer import Writer, open_writer

Pair = tuple[str, str]


def score_files(
    model: Path, source: Path, target: Path, *, threads: int | None = None
) -> tuple[Writer, Iterator[tuple[Sequence[Pair], list[Scored]]]]:
    """Score line n of `target` given line n of `source`, in portions, with what is returned first.

    Raises:
        DataError: A file cannot be read, or their line counts differ; or, later, as `Writer.score`.
        RunError, PackageError: The model cannot be used.
    """
    pairs = _paired(source, target)
    writer = open_writer(model, threads=threads)

    def portions() -> Iterator[tuple[Sequence[Pair], list[Scored]]]:
        for start in range(0, len(pairs), LINES_AT_ONCE):
            some = pairs[start : start + LINES_AT_ONCE]
            yield some, writer.score(some, first_line=start + 1)

    return writer, portions()


def _paired(source: Path, target: Path) -> list[Pair]:
    """All lines of two files, the blank ones too."""
    sources, targets = read_lines(source), read_lines(target)
    if len(sources) != len(targets):
        raise DataError(
            f"parallel files need as many lines each: {printable(source)} has {len(sources):,}, "
            f"{printable(target)} has {len(targets):,}"
        )
    return list(zip(sources, targets, strict=True))
