"""A table of tab-separated columns into pairs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from builder.data.files import place_of, read_lines
from builder.data.pairs import Pairs, without_blanks
from builder.errors import DataError, printable
from builder.wording import counted

Column = int | str
"""A name from the header, or a number from 1."""


def read_table(path: Path, source: Column, target: Column, *, key: str = "") -> Pairs:
    """Pair two columns of a TSV file; further ones are ignored, quotes are ordinary characters.

    The first line is a header if either column is a name. Pairs with a blank side are dropped.
    Messages begin with `key`, under which a user named the table, if there is one.

    Raises:
        DataError: the file cannot be read (see `read_lines`), or a line lacks a column.
    """
    lines = read_lines(path, key=key and f"{key}.path")
    has_header = isinstance(source, str) or isinstance(target, str)
    header = lines[0].split("\t") if has_header and lines else []
    if has_header and not header:
        return Pairs([], [], origin=printable(path))
    at_columns = f"{place_of(key and f'{key}.columns')}{printable(path)}"
    places = (_place(at_columns, source, header), _place(at_columns, target, header))
    first = 1 if has_header else 0
    return without_blanks(_cells(at_columns, lines[first:], first + 1, places), printable(path))


def _place(table: str, column: Column, header: list[str]) -> int:
    """The index of `column` in each row; messages begin with `table`."""
    if isinstance(column, int):
        if column < 1:
            raise DataError(f"{table}: no column {column}: columns are counted from 1")
        return column - 1
    found = header.count(column)
    if found != 1:
        problem = f"{counted(found, 'column')} named" if found else "no column"
        names = ", ".join(f"`{printable(name)}`" for name in header)
        raise DataError(f"{table}:1: {problem} `{printable(column)}`; the header has {names}")
    return header.index(column)


def _cells(
    table: str, lines: list[str], first: int, places: tuple[int, int]
) -> Iterator[tuple[str, str]]:
    """The two cells of each line; a blank line has two blank ones."""
    source, target = places
    for number, line in enumerate(lines, first):
        row = line.split("\t")
        if len(row) > max(places):
            yield row[source], row[target]
        elif line.strip():
            raise DataError(
                f"{table}:{number}: no column {max(places) + 1}; columns in this line: {len(row)}"
            )
        else:
            yield "", ""
