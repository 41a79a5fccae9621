"""How near one word is to another, counted in slips of the typist."""

from __future__ import annotations

from collections.abc import Iterable

from builder.blueprint.synonyms import plain

SLIPS = 2
"""Letters wrong, missing, too many or swapped in a word that is still recognised."""


def nearest(word: str, choices: Iterable[str]) -> str:
    """The choice that `word` may have been meant to be; empty if none is near."""
    slips = {
        choice: min(_slips(word, choice), _slips(plain(word), plain(choice))) for choice in choices
    }
    best = min(slips, key=slips.__getitem__, default="")
    return best if best and slips[best] <= min(SLIPS, len(plain(best)) - 1) else ""


def is_likely(word: str, choice: str) -> bool:
    """Whether a key of some other section is near enough to be what was meant."""
    return _slips(plain(word), plain(choice)) <= len(plain(word)) // 5


def _slips(word: str, choice: str) -> int:
    """Letters to add, drop, change or swap to get from one to the other (Damerau, 1964).

    Two letters can be swapped and others added or dropped between them. Where the lengths alone
    rule out that one is the other, only those are counted.
    """
    lengths = len(word), len(choice)
    if abs(lengths[0] - lengths[1]) > SLIPS:
        return abs(lengths[0] - lengths[1])
    slips = {(i, 0): i for i in range(lengths[0] + 1)}
    slips |= {(0, j): j for j in range(lengths[1] + 1)}
    rows: dict[str, int] = {}
    for i, letter in enumerate(word, 1):
        column = 0
        for j, other in enumerate(choice, 1):
            costs = [slips[i - 1, j] + 1, slips[i, j - 1] + 1]
            costs.append(slips[i - 1, j - 1] + (letter != other))
            row = rows.get(other, 0)
            if row and column:
                between = (i - row - 1) + (j - column - 1)
                costs.append(slips[row - 1, column - 1] + between + 1)
            slips[i, j] = min(costs)
            column = j if letter == other else column
        rows[letter] = i
    return slips[lengths]
