from __future__ import annotations

import pytest

from builder.blueprint.training import Constant, InverseSqrt, Noam
from builder.training.schedule import learning_rate


@pytest.mark.parametrize(
    ("step", "rate"),
    [(1, 1.746928e-07), (2, 3.493856e-07), (4000, 6.987712e-04), (8000, 4.941059e-04)],
)
def test_noam_gives_the_rates_of_the_paper(step: int, rate: float) -> None:
    noam = Noam(kind="noam", warmup=4000, factor=1.0)

    assert learning_rate(noam, step, 512) == pytest.approx(rate, rel=1e-6)
    assert learning_rate(noam.model_copy(update={"factor": 2.5}), step, 512) == pytest.approx(
        2.5 * rate, rel=1e-6
    )


@pytest.mark.parametrize(
    ("step", "share"), [(1, 0.01), (50, 0.5), (100, 1.0), (400, 0.5), (10_000, 0.1)]
)
def test_inverse_sqrt_peaks_after_its_warmup(step: int, share: float) -> None:
    schedule = InverseSqrt(kind="inverse_sqrt", learning_rate=3e-4, warmup=100)

    assert learning_rate(schedule, step, 512) == pytest.approx(3e-4 * share, rel=1e-12)


@pytest.mark.parametrize(
    ("warmup", "step", "share"), [(0, 1, 1.0), (0, 9, 1.0), (4, 1, 0.25), (4, 4, 1.0), (4, 99, 1.0)]
)
def test_constant_rises_to_its_rate(warmup: int, step: int, share: float) -> None:
    schedule = Constant(kind="constant", learning_rate=0.02, warmup=warmup)

    assert learning_rate(schedule, step, 512) == pytest.approx(0.02 * share, rel=1e-12)
