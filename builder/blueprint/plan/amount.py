"""Numbers that may depend on a vocabulary whose size is not known yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Rows = int | str
"""The size of a vocabulary, or its symbol where it is not known yet."""
Shape = tuple[Rows, ...]


@dataclass(frozen=True)
class Amount:
    """`fixed + per_row · V`: a count of parameters, operations or bytes."""

    fixed: int = 0
    per_row: tuple[tuple[str, int], ...] = ()
    """What each row of an unknown vocabulary adds, by its symbol."""

    @classmethod
    def of(cls, shape: Shape) -> Amount:
        """The numbers in a tensor, at most one axis of which is unknown."""
        size, symbol = 1, ""
        for axis in shape:
            if isinstance(axis, str):
                symbol = axis
            else:
                size *= axis
        return cls(per_row=((symbol, size),)) if symbol else cls(size)

    def __add__(self, other: Amount) -> Amount:
        rows = Counter(dict(self.per_row))
        rows.update(dict(other.per_row))
        return Amount(self.fixed + other.fixed, tuple(rows.items()))

    def __mul__(self, factor: int) -> Amount:
        rows = tuple((symbol, size * factor) for symbol, size in self.per_row)
        return Amount(self.fixed * factor, rows)

    def __bool__(self) -> bool:
        return bool(self.fixed or self.per_row)

    def __str__(self) -> str:
        terms = [f"{self.fixed:,}"] if self.fixed or not self.per_row else []
        return " + ".join([*terms, *(f"{size:,}·{symbol}" for symbol, size in self.per_row)])

    def at(self, rows: Mapping[str, int]) -> int:
        """The number for vocabularies of so many rows, by symbol."""
        return self.fixed + sum(size * rows[symbol] for symbol, size in self.per_row)

    def short(self, unit: str = "") -> str:
        """Three digits of each term, with a decimal prefix: `252 MB + 2.05 kB·V`."""
        terms = [rounded(self.fixed, unit)] if self.fixed or not self.per_row else []
        symbolic = (f"{rounded(size, unit)}·{symbol}" for symbol, size in self.per_row)
        return " + ".join([*terms, *symbolic])

    def as_dict(self) -> dict[str, Any]:
        """Plain values; `total` is null while a vocabulary is not known."""
        return {
            "total": None if self.per_row else self.fixed,
            "fixed": self.fixed,
            "per_row": dict(self.per_row),
            "text": str(self),
        }


NONE = Amount()


def rounded(number: int, unit: str = "") -> str:
    """Three digits and a decimal prefix: `252 MB`, `12.6 M`, `640`."""
    digits = float(f"{number:.3g}")
    prefixes = ["", "k", "M", "G", "T"]
    while digits >= 1000 and len(prefixes) > 1:
        digits /= 1000
        del prefixes[0]
    return f"{digits:,.4g} {prefixes[0]}{unit}".rstrip()
