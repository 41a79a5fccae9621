"""Updates into averages over the time since the last line of the log."""

from __future__ import annotations

from builder.training.learner import Update


class Meter:
    """Adds up updates; a new one is taken for each line of the log."""

    def __init__(self) -> None:
        self._loss = 0.0
        self._tokens = 0
        self._real = 0
        self._positions = 0
        self._seconds = 0.0

    def add(self, update: Update, seconds: float) -> None:
        """Count an update that took `seconds`."""
        self._loss += update.loss * update.tokens
        self._tokens += update.tokens
        self._real += update.real
        self._positions += update.positions
        self._seconds += seconds

    @property
    def loss(self) -> float:
        """Per target token."""
        return self._loss / self._tokens

    @property
    def tokens_per_second(self) -> float:
        """Target tokens, without padding; validations do not count."""
        return self._tokens / self._seconds

    @property
    def padding(self) -> float:
        """The share of padding among all positions of both sides."""
        return 1 - self._real / self._positions
