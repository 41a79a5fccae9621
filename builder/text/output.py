"""What a model writes for one line, and what it thinks of a pair."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Output:
    """One output: its text, and how the search came to it."""

    text: str
    score: float
    """The score the search ranks by, made of the model's own log-probabilities."""
    length: int
    """In tokens; EOS counts where it was reached."""
    ended: bool
    """False where the length limit cut the output off."""


@dataclass(frozen=True)
class Scored:
    """How likely a model finds the target of a pair."""

    log_prob: float
    """Natural logarithm of the target's probability, EOS included."""
    length: int
    """The target's tokens, EOS counted."""


def nothing() -> list[Output]:
    """Return the outputs of a line without text: one, without text."""
    return [Output("", 0.0, 0, ended=True)]


def missing() -> Output:
    """Return what stands in the place of an output that the search did not find."""
    return Output("", float("-inf"), 0, ended=False)
