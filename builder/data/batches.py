"""Lengths into batches of pair indices, and indices into padded arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from builder.data.store import PairStore, TokenStore

Integers = NDArray[np.integer]
Indices = NDArray[np.int64]

BAND = 1.1
"""Lengths within this ratio of each other count as alike."""


def plan_batches(
    source_lengths: Integers,
    target_lengths: Integers,
    *,
    batch_tokens: int,
    seed: int,
    epoch: int,
) -> list[Indices]:
    """Part the pairs of one epoch into batches of at most `batch_tokens` target tokens.

    Pairs of like target length, then source length, share a batch, so little is padding; pairs
    alike in both mix anew in every epoch, and the batches come in random order. Each pair comes
    once; one longer than `batch_tokens` makes a batch of its own. A pure function of its arguments.
    """
    draw = np.random.default_rng([seed, epoch])
    order = _order(source_lengths, target_lengths, draw)
    ends = np.cumsum(target_lengths[order])
    batches = []
    start, before = 0, 0
    while start < len(order):
        end = max(int(np.searchsorted(ends, before + batch_tokens, side="right")), start + 1)
        batches.append(order[start:end])
        start, before = end, int(ends[end - 1])
    return [batches[i] for i in draw.permutation(len(batches))]


def _order(
    source_lengths: Integers, target_lengths: Integers, draw: np.random.Generator
) -> Indices:
    """Pairs by band of target length, then of source length, with ties in random order.

    Sources rise through one band of targets and fall through the next, so that no batch holds
    the longest sources of one band and the shortest of another.
    """
    _, targets = np.unique(_bands(target_lengths), return_inverse=True)
    sources = _bands(source_lengths)
    ties = draw.permutation(len(targets))
    return np.lexsort((ties, np.where(targets % 2, -sources, sources), targets))


def _bands(lengths: Integers) -> Indices:
    return np.floor(np.log(lengths) / np.log(BAND)).astype(np.int64)


def split_microbatches(
    indices: Indices,
    target_lengths: Integers,
    source_lengths: Integers,
    microbatch_tokens: int,
) -> list[Indices]:
    """Cut one batch, in its order, into parts for one forward pass each.

    Neither side of a part, padding counted, is over `microbatch_tokens`; a single pair that is
    longer makes a part of its own.
    """
    longest = np.maximum(target_lengths[indices], source_lengths[indices])
    parts = []
    start, width = 0, 0
    for end, length in enumerate(longest.tolist()):
        width = max(width, length)
        if end > start and width * (end + 1 - start) > microbatch_tokens:
            parts.append(indices[start:end])
            start, width = end, length
    return [*parts, indices[start:]] if len(indices) else []


def collate(store: PairStore, indices: Indices, pad_id: int) -> tuple[Indices, Indices]:
    """The pairs `indices` as `source_ids` and `target_ids`, each [batch, time], padded right."""
    return _pad(store.source, indices, pad_id), _pad(store.target, indices, pad_id)


def _pad(store: TokenStore, indices: Indices, pad_id: int) -> Indices:
    sequences = [store[i] for i in indices.tolist()]
    padded = np.full((len(sequences), max(map(len, sequences), default=0)), pad_id, np.int64)
    for row, sequence in zip(padded, sequences, strict=True):
        row[: len(sequence)] = sequence
    return padded
