"""Cells and headings into Markdown that reads as well in a terminal as on a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

Cells = Sequence[str]


def table(head: Cells, rows: Iterable[Cells]) -> str:
    """A table whose columns stand below one another; the last is as wide as its text."""
    escaped = [[cell.replace("|", r"\|") for cell in row] for row in (head, *rows)]
    first, *body = aligned(escaped, " | ")
    rule = "|".join("-" * len(f" {part} ") for part in first.split(" | "))
    return "\n".join([f"| {first} |", f"|{rule}|", *(f"| {line} |" for line in body)])


def aligned(rows: Iterable[Cells], between: str) -> Iterator[str]:
    """Each row as a line, with cells as wide as the widest of their column."""
    every = list(rows)
    widths = [max(map(len, column)) for column in zip(*every, strict=True)][:-1]
    for *cells, last in every:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        yield between.join([*padded, last])


def enumerated(words: Iterable[str], joint: str = "and") -> str:
    """Words or keys as code, in one sentence."""
    *most, last = (f"`{word}`" for word in words)
    return f"{', '.join(most)} {joint} {last}" if most else last


def anchor(heading: str) -> str:
    """What a link to a heading is called on a page."""
    return re.sub(r"[^\w -]", "", heading.lstrip("# ").lower()).replace(" ", "-")
