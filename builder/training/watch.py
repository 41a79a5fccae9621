"""What a training tells whoever watches it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Started:
    """The first update is about to run."""

    name: str
    folder: Path
    parameters: int
    """Trained numbers, shared ones once."""
    pairs: int
    """Training pairs that are used."""
    validation_pairs: int
    batches: int
    """Updates of one epoch."""
    step: int
    """Updates done before; 0 unless resumed."""
    steps: int | None
    minutes: float | None
    threads: int


@dataclass(frozen=True)
class Progress:
    """Where the training stands after an update."""

    step: int
    epoch: float
    """Epochs done."""
    loss: float
    """What was minimised, per target token, since the last line of the log."""
    rate: float
    """Learning rate."""
    tokens_per_second: float
    """Target tokens without padding, since the last line of the log."""
    padding: float
    """Share of padding among source and target positions, since the last line of the log."""
    elapsed_s: float
    """Time spent training, over all resumes."""
    done: float
    """Share of the nearest limit that is used up, 0 to 1."""
    seconds_left: float | None
    """Until the nearest limit; None while it cannot be known."""


@dataclass(frozen=True)
class Sample:
    """One validation pair and what the model writes."""

    source: str
    target: str
    output: str


@dataclass(frozen=True)
class Validated:
    """The model was measured."""

    step: int
    metrics: dict[str, float]
    metric: str
    """The one that decides which weights are best."""
    is_best: bool
    samples: tuple[Sample, ...]


@dataclass(frozen=True)
class Finished:
    """The training reached its end."""

    step: int
    reason: str
    metric: str
    best: float
    elapsed_s: float


@dataclass(frozen=True)
class Note:
    """Something the user should know."""

    text: str


Event = Started | Progress | Validated | Note | Finished
Watch = Callable[[Event], None]
"""Takes events as they come; a `Progress` comes after every update, so it must be quick."""
