"""Lines into what a vocabulary lacks of them, for one warning at the end."""

from __future__ import annotations

from collections.abc import Sequence

from builder.errors import printable
from builder.text.tokenizer import TextTokenizer
from builder.wording import counted

SHOWN = 5
"""Different pieces that are named."""


class UnknownPieces:
    """Counts what a tokenizer does not know, and remembers where the first pieces stood."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._tokenizer = tokenizer
        self._lines = 0
        self._has_more = False
        self._first: dict[str, int] = {}
        self.count = 0
        """Pieces, each time that they came up."""

    def look(self, lines: Sequence[str], *, first_line: int = 1) -> None:
        """Count what is unknown in `lines`, the first of which has the number `first_line`."""
        for number, line in enumerate(lines, first_line):
            pieces = self._tokenizer.unknown(line)
            self.count += len(pieces)
            self._lines += bool(pieces)
            for piece in pieces:
                if len(self._first) < SHOWN:
                    self._first.setdefault(piece, number)
                elif piece not in self._first:
                    self._has_more = True

    def describe(self) -> str:
        """How much was unknown, and the first different pieces with their lines."""
        shown = ", ".join(f"`{printable(piece)}` in line {at}" for piece, at in self._first.items())
        return (
            f"the vocabulary lacks {counted(self.count, 'piece')} in "
            f"{counted(self._lines, 'line')}, read as the unknown token: {shown}"
            f"{', …' if self._has_more else ''}"
        )
