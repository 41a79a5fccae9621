"""Numbers into the words that messages are made of."""

from __future__ import annotations


def counted(number: float, noun: str) -> str:
    """A number with its noun, which is one of those that take an s: `1 pair`, `2,000 pairs`."""
    shown = f"{number:,}" if isinstance(number, int) else f"{number:g}"
    return f"{shown} {noun}" if number == 1 else f"{shown} {noun}s"
