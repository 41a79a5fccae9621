"""What a file can be asked for in each search, checked before its graph is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, cast

from builder.errors import PackageError, printable

Options = dict[str, int | float]

MOST = 2**31 - 1


@dataclass(frozen=True)
class Whole:
    """Whole numbers."""

    least: int = 1
    most: int = MOST

    def holds(self, value: Any) -> bool:
        """Tell whether `value` is one of them; a truth value is no number."""
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        return is_whole and self.least <= int(value) <= self.most

    def plain(self, value: Any) -> int:
        """Return the number itself, whichever library's it is."""
        return int(value)

    def __str__(self) -> str:
        return f"a whole number from {self.least} to {self.most:,}"


@dataclass(frozen=True)
class Number:
    """Numbers of any kind."""

    least: float
    most: float
    above: bool = False
    """The least itself is none of them."""

    def holds(self, value: Any) -> bool:
        """Tell whether `value` is one of them; neither a truth value nor NaN is."""
        if not isinstance(value, Real) or isinstance(value, bool):
            return False
        number = cast("float", value)
        return self.least <= number <= self.most and not (self.above and number == self.least)

    def plain(self, value: Any) -> float:
        """Return the number itself, whichever library's it is."""
        return float(value)

    def __str__(self) -> str:
        least = f"above {self.least:g}" if self.above else f"from {self.least:g}"
        return f"a number {least} to {self.most:,g}"


ALLOWED: dict[str, Whole | Number] = {
    "max_length": Whole(),
    "min_length": Whole(),
    "beams": Whole(most=1_000),
    "n_best": Whole(most=1_000),
    "length_penalty": Number(0, 100),
    "temperature": Number(0, 1_000, above=True),
    "top_k": Whole(),
    "top_p": Number(0, 1, above=True),
    "seed": Whole(least=0),
}
"""Every option that a file may have, as a blueprint allows it."""
PLAIN: Options = {
    "min_length": 1,
    "beams": 1,
    "n_best": 1,
    "length_penalty": 0.0,
    "temperature": 1.0,
}
"""Options under which a score is the sum of the output's log-probabilities."""


def complete(own: Mapping[str, int | float], asked: Mapping[str, object]) -> Options:
    """Return a file's `own` options, changed by what is asked for.

    Raises:
        PackageError: The file has no such option, or a value is not allowed.
    """
    for name, value in asked.items():
        if name not in own:
            raise PackageError(
                f"no option `{printable(name)}` in this file; its options: {described(own)}"
            )
        if not ALLOWED[name].holds(value):
            raise PackageError(
                f"`{name}`: found {printable(repr(value))}; {ALLOWED[name]} is needed"
            )
    options: Options = {
        **own,
        **{name: ALLOWED[name].plain(value) for name, value in asked.items()},
    }
    beams, n_best = options.get("beams"), options.get("n_best", 1)
    if beams is not None and n_best > beams:
        raise PackageError(f"n_best={n_best:,} outputs cannot come of beams={beams:,}")
    return options


def described(own: Mapping[str, int | float]) -> str:
    """Return options with what holds where nothing is asked for."""
    return ", ".join(f"`{name}` ({value:,})" for name, value in own.items())
