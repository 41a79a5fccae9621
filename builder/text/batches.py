"""Sequences into groups of like length, which waste little on padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def by_length(lengths: Sequence[int], *, batch_tokens: int) -> Iterator[list[int]]:
    """Group the indices of `lengths`, longest first, so that each index comes once.

    A group holds at most `batch_tokens` tokens, its padding included, or one sequence.
    """
    group: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        if group and (len(group) + 1) * lengths[group[0]] > batch_tokens:
            yield group
            group = []
        group.append(index)
    if group:
        yield group
