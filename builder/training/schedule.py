"""The number of an update into its learning rate."""

from __future__ import annotations

from typing import assert_never

from builder.blueprint.training import Constant, InverseSqrt, Noam, Schedule


def learning_rate(schedule: Schedule, step: int, d_model: int) -> float:
    """Return the rate of update `step`, counted from 1 (Vaswani et al., 2017, section 5.3)."""
    match schedule:
        case Noam(warmup=warmup, factor=factor):
            return factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
        case InverseSqrt(learning_rate=peak, warmup=warmup):
            return peak * min(step / warmup, (warmup / step) ** 0.5)
        case Constant(learning_rate=peak, warmup=warmup):
            return peak * min(step / warmup, 1.0) if warmup else peak
        case unreachable:
            assert_never(unreachable)
