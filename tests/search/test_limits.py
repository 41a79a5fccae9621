from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
import torch

from builder.options import NO_LIMIT
from builder.search.limits import LengthRule

NOBODY_ASKS = torch.tensor(NO_LIMIT)


def exact(ratio: str, length: int, plus: int) -> int:
    return int(Decimal(ratio) * length) + plus


@pytest.mark.parametrize("plus", [0, 1, 50])
def test_every_decimal_ratio_is_exact(plus: int) -> None:
    """0.29 × 100 is 29, though the nearest binary number is below 0.29."""
    lengths = torch.arange(1, 201)

    for hundredths in range(301):
        ratio = str(Decimal(hundredths) / 100)
        ours = LengthRule.of(float(ratio), plus, None).limits(lengths, NOBODY_ASKS)
        wanted = [max(1, exact(ratio, length, plus)) for length in range(1, 201)]
        assert ours.tolist() == wanted


@pytest.mark.parametrize("ratio", ["0.333333", "0.999999", "1.000001", "0.000001", "1000.000001"])
def test_six_decimals_are_exact_too(ratio: str) -> None:
    lengths = [1, 3, 999_999, 1_000_000]

    ours = LengthRule.of(float(ratio), 5, None).limits(torch.tensor(lengths), NOBODY_ASKS)

    assert ours.tolist() == [exact(ratio, length, 5) for length in lengths]


def test_the_largest_numbers_of_a_blueprint_mean_no_limit() -> None:
    rule = LengthRule.of(1e12, 2**31 - 1, None)

    assert rule.limits(torch.tensor([1, 100, 100_000]), NOBODY_ASKS).tolist() == [NO_LIMIT] * 3


def test_the_smallest_of_three_limits_holds_and_1_is_the_least() -> None:
    lengths = torch.tensor([1, 4, 10, 40])

    def limits(ratio: float, plus: int, ceiling: int | None, option: int) -> list[int]:
        return LengthRule.of(ratio, plus, ceiling).limits(lengths, torch.tensor(option)).tolist()

    assert limits(1.5, 2, None, NO_LIMIT) == [3, 8, 17, 62]
    assert limits(1.5, 2, 20, NO_LIMIT) == [3, 8, 17, 20]
    assert limits(1.5, 2, 20, 5) == [3, 5, 5, 5]
    assert limits(1.5, 2, 4, 5) == [3, 4, 4, 4]
    assert limits(0.0, 0, None, NO_LIMIT) == [1, 1, 1, 1]
    assert limits(0.2, 0, None, NO_LIMIT) == [1, 1, 2, 8]
    assert limits(1.0, 0, None, 0) == [1, 1, 1, 1]


def test_the_ratio_is_kept_as_it_is_written() -> None:
    assert LengthRule.of(0.29, 0, None).ratio == Fraction(29, 100)
    assert LengthRule.of(1e-06, 0, None).ratio == Fraction(1, 1_000_000)
    assert LengthRule.of(1.0, 0, None).ceiling is None
