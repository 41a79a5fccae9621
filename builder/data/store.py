"""Pairs of lines into flat arrays of token ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from builder.data.pairs import Pairs
from builder.text.tokenizer import TextTokenizer

CHUNK_LINES = 10_000
"""Lines whose ids exist as Python lists at one time."""


class TokenStore:
    """Sequences of token ids, one after the other in one array.

    `ids` holds them all; sequence i is `ids[offsets[i]:offsets[i + 1]]`, its tokens with EOS are
    `lengths[i]`.
    """

    def __init__(self, ids: NDArray[np.unsignedinteger], offsets: NDArray[np.int64]) -> None:
        self.ids = ids
        self.offsets = offsets
        self.lengths: NDArray[np.int64] = np.diff(offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.unsignedinteger]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def __iter__(self) -> Iterator[NDArray[np.unsignedinteger]]:
        return (self[i] for i in range(len(self)))


@dataclass(frozen=True)
class PairStore:
    """Sources and targets as ids; sequence i of one belongs to sequence i of the other."""

    source: TokenStore
    target: TokenStore

    def __len__(self) -> int:
        return len(self.source)


class Encoded(NamedTuple):
    """Pairs as ids, and what became of each pair."""

    store: PairStore
    kept: NDArray[np.int64]
    """For each pair of `store`, its place among the pairs that were given."""
    dropped: dict[str, int]
    """Counts by reason."""


def encode_pairs(
    pairs: Pairs,
    source_tokenizer: TextTokenizer,
    target_tokenizer: TextTokenizer,
    max_source: int,
    max_target: int,
) -> Encoded:
    """Encode `pairs`; those longer than the limits, in tokens with EOS, are dropped and counted."""
    dropped: Counter[str] = Counter()
    kept = np.zeros(len(pairs), dtype=np.bool_)
    sources = _Builder(source_tokenizer.vocab_size)
    targets = _Builder(target_tokenizer.vocab_size)
    for start in range(0, len(pairs), CHUNK_LINES):
        chunk = slice(start, start + CHUNK_LINES)
        encoded = zip(
            source_tokenizer.encode(pairs.sources[chunk]),
            target_tokenizer.encode(pairs.targets[chunk]),
            strict=True,
        )
        fitting = []
        for place, (source, target) in enumerate(encoded, start):
            if len(source) > max_source:
                dropped[f"source over {max_source} tokens"] += 1
            elif len(target) > max_target:
                dropped[f"target over {max_target} tokens"] += 1
            else:
                fitting.append((source, target))
                kept[place] = True
        sources.extend([source for source, _ in fitting])
        targets.extend([target for _, target in fitting])
    store = PairStore(sources.store(), targets.store())
    return Encoded(store, np.flatnonzero(kept), dict(dropped))


class _Builder:
    """A `TokenStore` in the making, as narrow as its vocabulary allows."""

    def __init__(self, vocab_size: int) -> None:
        self._dtype = np.uint16 if vocab_size <= 2**16 else np.uint32
        self._ids: list[NDArray[np.unsignedinteger]] = []
        self._lengths: list[NDArray[np.int64]] = []

    def extend(self, sequences: Sequence[Sequence[int]]) -> None:
        self._ids.append(np.fromiter(chain.from_iterable(sequences), dtype=self._dtype))
        self._lengths.append(np.fromiter(map(len, sequences), dtype=np.int64))

    def store(self) -> TokenStore:
        ids = np.concatenate([np.empty(0, self._dtype), *self._ids])
        lengths = np.concatenate([np.zeros(1, np.int64), *self._lengths])
        return TokenStore(ids, np.cumsum(lengths))
