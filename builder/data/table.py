"""A table of tab-separated columns into pairs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from builder.data.files import read_lines
from builder.data.pairs import Pairs, without_blanks
from builder.errors import DataError, printable

Column = int | str
"""A name from the header, or a number from 1."""


def read_table(path: Path, source: Column, target: Column) -> Pairs:
    """Pair two columns of a TSV file; further ones are ignored, quotes are ordinary characters.

    The first line is a header if either column is a name. Pairs with a blank side are dropped.

    Raises:
        DataError: the file cannot be read (see `read_lines`), or a line lacks a column.
    """
    lines = read_lines(path)
    has_header = isinstance(source, str) or isinstance(target, str)
    header = lines[0].split("\t") if has_header and lines else []
    if has_header and not header:
        return Pairs([], [], origin=printable(path))
    places = (_place(path, source, header), _place(path, target, header))
    first = 1 if has_header else 0
    return without_blanks(_cells(path, lines[first:], first + 1, places), printable(path))


def _place(path: Path, column: Column, header: list[str]) -> int:
    """The index of `column` in each row."""
    if isinstance(column, int):
        if column < 1:
            raise DataError(f"{printable(path)}: no column {column}: columns are counted from 1")
        return column - 1
    found = header.count(column)
    if found != 1:
        problem = f"{found} columns named" if found else "no column"
        names = ", ".join(f"`{printable(name)}`" for name in header)
        raise DataError(
            f"{printable(path)}:1: {problem} `{printable(column)}`; the header has {names}"
        )
    return header.index(column)


def _cells(
    path: Path, lines: list[str], first: int, places: tuple[int, int]
) -> Iterator[tuple[str, str]]:
    """The two cells of each line; a blank line has two blank ones."""
    source, target = places
    for number, line in enumerate(lines, first):
        row = line.split("\t")
        if len(row) > max(places):
            yield row[source], row[target]
        elif line.strip():
            raise DataError(
                f"{printable(path)}:{number}: no column {max(places) + 1}; "
                f"columns in this line: {len(row)}"
            )
        else:
            yield "", ""
