"""How long an output may become, for each row on its own."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from jaxtyping import Int
from torch import Tensor


@dataclass(frozen=True)
class LengthRule:
    """ratio × source length, rounded down, + plus, and at most `ceiling`; never below 1.

    All lengths count tokens, EOS included. The ratio is a fraction of whole numbers, so that every
    engine rounds alike.
    """

    ratio: Fraction
    plus: int
    ceiling: int | None
    """The positional limit of the target."""

    @classmethod
    def of(cls, ratio: float, plus: int, ceiling: int | None) -> LengthRule:
        """Take the ratio as it is written in decimal, to six places: 0.29 is 29/100."""
        fraction = Fraction(f"{ratio:.6f}")
        return cls(fraction, plus, ceiling)

    def limits(
        self, lengths: Int[Tensor, " batch"], max_length: Int[Tensor, ""]
    ) -> Int[Tensor, " batch"]:
        """Return each row's limit from its own source length and the option `max_length`."""
        scaled = lengths * self.ratio.numerator // self.ratio.denominator + self.plus
        scaled = scaled if self.ceiling is None else scaled.clamp(max=self.ceiling)
        return scaled.minimum(max_length).clamp(min=1)
