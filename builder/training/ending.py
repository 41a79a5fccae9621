"""What ends a training, and how far off it is."""

from __future__ import annotations

from builder.blueprint.training import Training
from builder.training.state import State
from builder.wording import counted


def end(state: State, training: Training) -> str | None:
    """Say which limit is reached; None while none is."""
    patience = training.validate_.patience
    if training.steps is not None and state.step >= training.steps:
        return f"{counted(training.steps, 'update')} {_are(training.steps)} done"
    if training.minutes is not None and state.elapsed_s >= 60 * training.minutes:
        return f"{counted(training.minutes, 'minute')} {_are(training.minutes)} over"
    if patience is not None and state.waited >= patience:
        return f"no better {training.validate_.metric} in {counted(patience, 'validation')}"
    return None


def _are(number: float) -> str:
    return "is" if number == 1 else "are"


def done(state: State, training: Training) -> float:
    """The share of the nearest limit that is used up, 0 to 1."""
    by_steps = state.step / training.steps if training.steps is not None else 0.0
    by_time = state.elapsed_s / (60 * training.minutes) if training.minutes is not None else 0.0
    return min(1.0, max(by_steps, by_time))
