"""The beginnings that outputs must have, as ids: the same rules in PyTorch and in the runtime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from builder.errors import DataError, printable
from builder.text.tokenizer import TextTokenizer

FREE = -1
"""Stands in the place of a token that is not asked for."""

Prefix = str | Sequence[str] | None
"""One beginning for all lines, or one for each; an empty one asks for nothing."""


@dataclass(frozen=True)
class OutputLimit:
    """The longest output in tokens, EOS counted: ratio × source length, rounded down, + plus."""

    ratio: Fraction
    plus: int
    positions: int | None
    """Those of the decoder, where they end."""

    @classmethod
    def of(cls, ratio: float, plus: int, positions: int | None) -> OutputLimit:
        """Take the ratio as it is written in decimal, to six places, as the search does."""
        return cls(Fraction(f"{ratio:.6f}"), plus, positions)

    def tokens(self, source_tokens: int, max_length: int | None = None) -> int:
        """Return the limit of a source, which the option `max_length` shortens."""
        limits = [int(source_tokens * self.ratio) + self.plus, self.positions, max_length]
        return max(1, min(limit for limit in limits if limit is not None))


def encode_prefix(
    tokenizer: TextTokenizer,
    prefix: Prefix,
    *,
    lines: int,
    first_line: int = 1,
    noun: str = "line",
) -> list[list[int]]:
    """Ids that the output of each of `lines` begins with; none where nothing is asked for.

    Raises:
        DataError: A part of one is not in the vocabulary, so that no output can begin so, or
            there is another number of them.
    """
    if prefix is None:
        return [[] for _ in range(lines)]
    if isinstance(prefix, str):
        return [_beginning(tokenizer, prefix, "the beginning of outputs")] * lines
    if len(prefix) != lines:
        raise DataError(f"{len(prefix):,} beginnings for {lines:,} lines: one for each is needed")
    return [
        _beginning(tokenizer, text, f"the beginning for {noun} {number}")
        for number, text in enumerate(prefix, first_line)
    ]


def _beginning(tokenizer: TextTokenizer, text: str, place: str) -> list[int]:
    (ids,) = tokenizer.encode([text], noun=f"{place}, line")
    unknown = tokenizer.unknown(text)
    if unknown:
        raise DataError(
            f"{place}: {printable(repr(unknown[0]))} is not in the target vocabulary: "
            "no output can begin so"
        )
    return ids[:-1]


def check_prefix(prefix: Sequence[int], limit: int | None, place: str) -> None:
    """Refuse a beginning that leaves no room for a token more; `place` names its line.

    `limit` is that of the output, in tokens, EOS counted; None where nothing is to be written.

    Raises:
        DataError: It is not shorter than `limit`.
    """
    if limit is not None and prefix and len(prefix) >= limit:
        raise DataError(
            f"{place}: its output is to begin with {len(prefix):,} tokens, and may be of "
            f"{limit:,} at most, EOS counted"
        )


def padded(prefixes: Sequence[Sequence[int]]) -> list[list[int]]:
    """Rows of one length, at least 1, in which what is not asked for is free."""
    longest = max([1, *map(len, prefixes)])
    return [[*ids, *[FREE] * (longest - len(ids))] for ids in prefixes]
