"""Attention in plain loops: one query, one head and one key at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from builder.blueprint.model import (
    ALiBi,
    Attention,
    Positions,
    RelativeBias,
    RelativeKeys,
    Rotary,
)

from .order import Array, bucket, slopes, turned

Weights = Mapping[str, Array]

QK_NORM_EPS = 1e-6
"""That of OLMo 2 and Qwen 3, whose form the blueprint's is."""


def linear(weights: Weights, name: str, x: Array) -> Array:
    """The projection `name` of every row."""
    return x @ weights[f"{name}.weight"].T + weights.get(f"{name}.bias", 0.0)


@dataclass(frozen=True)
class Place:
    """What the self-attention of a layer knows of the order of tokens."""

    positions: Positions
    weights: Weights
    name: str
    both_ways: bool
    """Whether the stack is an encoder."""

    def turn(self, x: Array, time: int) -> Array:
        """One head's query or key at `time`, turned where positions are rotary."""
        if not isinstance(self.positions, Rotary):
            return x
        width = round(self.positions.fraction * len(x))
        return turned(x, time / self.positions.scaling, self.positions.base, width)

    def offset(self, query: int, key: int) -> Array | float:
        """What is added to the key (Shaw et al., 2018)."""
        if not isinstance(self.positions, RelativeKeys):
            return 0.0
        farthest = self.positions.max_distance
        distance = max(-farthest, min(farthest, key - query))
        return self.weights[f"{self.name}.table"][distance + farthest]

    def bias(self, head: int, heads: int, query: int, key: int) -> float:
        """What is added to the score."""
        if isinstance(self.positions, ALiBi):
            return -slopes(heads)[head] * abs(query - key)
        if isinstance(self.positions, RelativeBias):
            row = bucket(self.positions, key - query, both_ways=self.both_ways)
            return self.weights[f"{self.name}.table.weight"][row, head]
        return 0.0


@dataclass(frozen=True)
class PlainAttention:
    """The attention called `name`, of the layer `layer` counted from 0."""

    section: Attention
    layer: int
    weights: Weights
    name: str

    @property
    def heads(self) -> int:
        """Of queries, in this layer."""
        return self.section.heads[self.layer % len(self.section.heads)]

    def __call__(
        self,
        query: Array,
        memory: Array,
        sees: Callable[[int, int], bool] = lambda _query, _key: True,
        place: Place | None = None,
    ) -> Array:
        """Mix values of `memory` for every row of `query`."""
        kv_heads = self.section.kv_heads or self.heads
        q = self._split("q", query, self.heads, place)
        k = self._split("k", memory, kv_heads, place)
        v = linear(self.weights, f"{self.name}.v_proj", memory).reshape(len(memory), kv_heads, -1)
        mixed = np.zeros((len(query), self.heads, v.shape[-1]))
        for i, head in np.ndindex(len(query), self.heads):
            shared = head // (self.heads // kv_heads)
            seen = [j for j in range(len(memory)) if sees(i, j)]
            scores = np.array([self._score(q[i, head], k[j, shared], place, (head, i, j))
                               for j in seen])  # fmt: skip
            shares = np.exp(scores - scores.max())
            mixed[i, head] = shares / shares.sum() @ v[seen, shared]
        return linear(self.weights, f"{self.name}.out_proj", mixed.reshape(len(query), -1))

    def _split(self, side: str, x: Array, heads: int, place: Place | None) -> Array:
        """Queries or keys of every head, [time, heads, d_k], as they meet in a product."""
        split = linear(self.weights, f"{self.name}.{side}_proj", x).reshape(len(x), heads, -1)
        for time, head in np.ndindex(len(x), heads):
            one = split[time, head]
            if self.section.qk_norm:
                root = math.sqrt(float(np.mean(one**2)) + QK_NORM_EPS)
                one = one / root * self.weights[f"{self.name}.{side}_norm.weight"]
            split[time, head] = place.turn(one, time) if place else one
        return split

    def _score(self, q: Array, k: Array, place: Place | None, at: tuple[int, int, int]) -> float:
        head, query, key = at
        scale = self.section.scale or 1 / math.sqrt(len(q))
        score = scale * float(q @ (k + place.offset(query, key) if place else k))
        if self.section.softcap:
            score = self.section.softcap * math.tanh(score / self.section.softcap)
        return score + (place.bias(head, self.heads, query, key) if place else 0.0)
