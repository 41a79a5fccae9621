"""What a model writes for one line."""

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
