"""Scaled dot-product attention in parallel heads, with and without a cache."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from builder.nn.positions import RotaryPositions


class KeyValue(NamedTuple):
    """Projected keys and values of one attention: what a decoder need not compute twice."""

    k: Float[Tensor, "batch heads key d_k"]
    v: Float[Tensor, "batch heads key d_v"]


class MultiHeadAttention(nn.Module):
    """Scaled dot-product attention in parallel heads (Vaswani et al., 2017, section 3.2.2).

    Self-attention passes one tensor as both `query` and `memory`; cross-attention passes the
    decoder's states as `query` and the encoder's output as `memory`. With `rotary`, queries and
    keys are turned by their position.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        *,
        d_k: int | None = None,
        d_v: int | None = None,
        bias: bool = False,
        dropout: float = 0.0,
        rotary: RotaryPositions | None = None,
    ) -> None:
        super().__init__()
        d_k = d_k or d_model // heads
        d_v = d_v or d_k
        self.heads = heads
        self.dropout = dropout
        self.rotary = rotary
        self.q_proj = nn.Linear(d_model, heads * d_k, bias=bias)
        self.k_proj = nn.Linear(d_model, heads * d_k, bias=bias)
        self.v_proj = nn.Linear(d_model, heads * d_v, bias=bias)
        self.out_proj = nn.Linear(heads * d_v, d_model, bias=bias)

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        memory: Float[Tensor, "batch key d_model"],
        mask: Bool[Tensor, "#batch #query key"] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Let every position of `query` gather values from `memory`.

        `mask` is True where attending is allowed; None allows everything.
        """
        q = self._split(self.q_proj(query))  # [batch, heads, query, d_k]
        if self.rotary is not None:
            q = self.rotary(q, torch.arange(query.shape[1], device=query.device))
        mixed = self._attend(q, self.keys_values(memory), mask)
        return self.out_proj(mixed.transpose(1, 2).flatten(-2))

    def keys_values(self, memory: Float[Tensor, "batch key d_model"]) -> KeyValue:
        """Project `memory`, whose first vector stands at position 0."""
        k, v = self._split(self.k_proj(memory)), self._split(self.v_proj(memory))
        if self.rotary is not None:
            k = self.rotary(k, torch.arange(memory.shape[1], device=memory.device))
        return KeyValue(k, v)

    def look(
        self,
        query: Float[Tensor, "batch d_model"],
        memory: KeyValue,
        mask: Bool[Tensor, "#batch key"] | None,
    ) -> Float[Tensor, "batch d_model"]:
        """Let one vector of each row gather values from a memory projected before."""
        q = self.q_proj(query).unflatten(-1, (self.heads, -1))  # [batch, heads, d_k]
        return self.out_proj(attend_one(q, memory, mask).flatten(1))

    def extend(
        self,
        x: Float[Tensor, "batch d_model"],
        cache: KeyValue,
        position: Int[Tensor, ""],
        mask: Bool[Tensor, " key"] | None,
    ) -> tuple[Float[Tensor, "batch d_model"], KeyValue]:
        """Add the vector at `position` to `cache` and let it attend to all that is there.

        Self-attention of one decoding step; `mask` covers the cache and the new vector.
        """
        q = self.q_proj(x).unflatten(-1, (self.heads, 1, -1))  # [batch, heads, 1, d_k]
        k = self.k_proj(x).unflatten(-1, (self.heads, 1, -1))
        v = self.v_proj(x).unflatten(-1, (self.heads, 1, -1))
        if self.rotary is not None:
            here = position[None]
            q, k = self.rotary(q, here), self.rotary(k, here)
        longer = KeyValue(torch.cat([cache.k, k], dim=2), torch.cat([cache.v, v], dim=2))
        mixed = attend_one(q[:, :, 0], longer, mask[None] if mask is not None else None)
        return self.out_proj(mixed.flatten(1)), longer

    def empty_cache(self, rows: Int[Tensor, "batch ..."]) -> KeyValue:
        """Return a cache of no positions, of the projections' type, for as many `rows`."""
        weight, batch = self.k_proj.weight, rows.shape[0]
        d_k, d_v = (p.out_features // self.heads for p in (self.k_proj, self.v_proj))
        return KeyValue(
            weight.new_zeros(batch, self.heads, 0, d_k), weight.new_zeros(batch, self.heads, 0, d_v)
        )

    def _attend(
        self,
        q: Float[Tensor, "batch heads query d_k"],
        memory: KeyValue,
        mask: Bool[Tensor, "#batch #query key"] | None,
    ) -> Float[Tensor, "batch heads query d_v"]:
        dropout = self.dropout if self.training else 0.0
        mask = mask[:, None] if mask is not None else None  # [batch, 1, query, key]
        return F.scaled_dot_product_attention(
            q, memory.k, memory.v, attn_mask=mask, dropout_p=dropout
        )

    def _split(self, x: Float[Tensor, "batch time width"]) -> Float[Tensor, "batch heads time d"]:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def attend_one(
    q: Float[Tensor, "batch heads d_k"], memory: KeyValue, mask: Bool[Tensor, "#batch key"] | None
) -> Float[Tensor, "batch heads d_v"]:
    """Let one query of each row and head gather values, without copying or turning the keys.

    The dropout of training has no place here.
    """
    q = q * q.shape[-1] ** -0.5
    scores = (memory.k @ q[..., None]).squeeze(-1)  # [batch, heads, key]
    if mask is not None:
        scores = scores.masked_fill(~mask[:, None], torch.finfo(scores.dtype).min)
    return (scores.softmax(dim=-1)[:, :, None] @ memory.v).squeeze(2)
