"""Who may attend to whom, as boolean tensors: True = may attend."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor


@dataclass(frozen=True)
class Band:
    """A band around the diagonal: full, causal and window masks are the same rule.

    Every position sees itself, `before` neighbours on its left and `after` on its right; None sees
    to the end on that side. The first `global_tokens` positions see all the others and are seen by
    all (Beltagy et al., 2020).
    """

    before: int | None = None
    after: int | None = None
    global_tokens: int = 0

    @property
    def hides_past(self) -> bool:
        """Whether any position is hidden from one after it."""
        return self.before is not None

    def allowed(
        self, query: Int[Tensor, " query"], key: Int[Tensor, " key"]
    ) -> Bool[Tensor, "query key"]:
        """Compare the positions of queries with those of keys."""
        distance = key[None, :] - query[:, None]
        allowed = torch.ones_like(distance, dtype=torch.bool)
        if self.before is not None:
            allowed = allowed & (distance >= -self.before)
        if self.after is not None:
            allowed = allowed & (distance <= self.after)
        if self.global_tokens:
            allowed = allowed | (key < self.global_tokens) | (query < self.global_tokens)[:, None]
        return allowed


@dataclass(frozen=True)
class Block:
    """Local attention in chunks: a position sees those of its own block of `size`, and no other."""

    size: int

    @property
    def hides_past(self) -> bool:
        """Whether any position is hidden from one after it."""
        return True

    def allowed(
        self, query: Int[Tensor, " query"], key: Int[Tensor, " key"]
    ) -> Bool[Tensor, "query key"]:
        """Compare the positions of queries with those of keys."""
        return query[:, None] // self.size == key[None, :] // self.size


@dataclass(frozen=True)
class Prefix:
    """Both directions among the first `length` positions, backwards from those after them."""

    length: int

    @property
    def hides_past(self) -> bool:
        """Whether any position is hidden from one after it."""
        return False

    def allowed(
        self, query: Int[Tensor, " query"], key: Int[Tensor, " key"]
    ) -> Bool[Tensor, "query key"]:
        """Compare the positions of queries with those of keys."""
        inside = (query < self.length)[:, None] & (key < self.length)
        return inside | (key[None, :] <= query[:, None])


Pattern = Band | Block | Prefix
"""What the self-attention of a layer may be limited to."""


@dataclass(frozen=True)
class Causal:
    """What `inner` allows and does not lie ahead: the mask of every decoder."""

    inner: Pattern

    @property
    def hides_past(self) -> bool:
        """Whether any position is hidden from one after it."""
        return self.inner.hides_past

    def allowed(
        self, query: Int[Tensor, " query"], key: Int[Tensor, " key"]
    ) -> Bool[Tensor, "query key"]:
        """Compare the positions of queries with those of keys."""
        return self.inner.allowed(query, key) & (key[None, :] <= query[:, None])


def encoder_mask(
    pattern: Pattern, real: Bool[Tensor, "batch source"]
) -> Bool[Tensor, "batch source source"]:
    """Allow what `pattern` allows among real tokens, and always the diagonal.

    The diagonal keeps the rows of padding from being empty: softmax over nothing is a NaN in one
    engine, zeros in another and an average in a third.
    """
    positions = torch.arange(real.shape[1], device=real.device)
    diagonal = positions[:, None] == positions[None, :]
    return (pattern.allowed(positions, positions)[None] & real[:, None, :]) | diagonal[None]
