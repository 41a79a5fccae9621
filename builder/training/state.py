"""Where a training stands, in numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class State:
    """With weights, optimiser and generators, all that exact resuming needs."""

    step: int = 0
    """Updates done; the schedule needs no more."""
    epoch: int = 0
    """Epochs finished."""
    position: int = 0
    """Updates done in the running epoch."""
    elapsed_s: float = 0.0
    """Time spent training."""
    validated: int = 0
    """The update after which the model was last measured on schedule."""
    best: float | None = None
    """The best value of the metric so far, on schedule."""
    waited: int = 0
    """Validations on schedule, in a row, without a better one."""
