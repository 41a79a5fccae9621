"""Scaled dot-product attention in parallel heads, with and without a cache."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from builder.nn.relative_keys import KeyOffsets
from builder.nn.rotary import Rotation
from builder.nn.sight import Mask, Sight

QK_NORM_EPS = 1e-6


class KeyValue(NamedTuple):
    """Projected keys and values of one attention: what a decoder need not compute twice."""

    k: Float[Tensor, "batch kv_heads key d_k"]
    v: Float[Tensor, "batch kv_heads key d_v"]


class MultiHeadAttention(nn.Module):
    """Scaled dot-product attention in parallel heads (Vaswani et al., 2017, section 3.2.2).

    Self-attention passes one tensor as both `query` and `memory`; cross-attention passes the
    decoder's states as `query` and the encoder's output as `memory`.

    With `kv_heads`, groups of heads that follow one another share keys and values (Ainslie et al.,
    2023). Products are multiplied by `scale`, d_k^-0.5 unless given. `qk_norm` scales the queries
    and keys of each head to one root mean square (after Henry et al., 2020); `softcap` keeps
    products within ± itself (Gemma Team, 2024), before biases and masks.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        *,
        kv_heads: int | None = None,
        d_k: int | None = None,
        d_v: int | None = None,
        bias: bool = False,
        scale: float | None = None,
        qk_norm: bool = False,
        softcap: float | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        kv_heads = kv_heads or heads
        d_k = d_k or d_model // heads
        d_v = d_v or d_k
        self.heads = heads
        self.kv_heads = kv_heads
        self.d_k = d_k
        self.d_v = d_v
        self.scale = d_k**-0.5 if scale is None else scale
        self.softcap = softcap
        self.dropout = dropout
        self.q_proj = nn.Linear(d_model, heads * d_k, bias=bias)
        self.k_proj = nn.Linear(d_model, kv_heads * d_k, bias=bias)
        self.v_proj = nn.Linear(d_model, kv_heads * d_v, bias=bias)
        self.out_proj = nn.Linear(heads * d_v, d_model, bias=bias)
        self.q_norm = nn.RMSNorm(d_k, eps=QK_NORM_EPS) if qk_norm else nn.Identity()
        self.k_norm = nn.RMSNorm(d_k, eps=QK_NORM_EPS) if qk_norm else nn.Identity()
        self.joint_proj: nn.Linear | None = None  # `builder.nn.joint` makes it

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        memory: Float[Tensor, "batch key d_model"],
        mask: Mask | None = None,
        order: Rotation | KeyOffsets | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Let every position of `query` gather values from `memory`.

        `mask` says who may, as in `Sight`; every query needs one key at least.
        """
        projected = self._project(query) if query is memory else None
        q, k, v = projected or (self.q_proj(query), *self._project_memory(memory))
        q, (k, v) = self.q_norm(_by_head(q, self.heads)), self._keys_values(k, v)
        if isinstance(order, Rotation):
            q, k = order.turn(q), order.turn(k)
        offsets = order.products(q * self.scale) if isinstance(order, KeyOffsets) else None
        attend = self._attend if self.softcap is None else self._attend_by_steps
        mixed = attend(q, KeyValue(k, v), mask, offsets)  # [batch, heads, query, d_v]
        return self.out_proj(mixed.transpose(1, 2).flatten(-2))

    def keys_values(self, memory: Float[Tensor, "batch key d_model"]) -> KeyValue:
        """Project `memory`; where keys are turned by their position, that is still to come."""
        return self._keys_values(*self._project_memory(memory))

    def look(
        self,
        query: Float[Tensor, "rows d_model"],
        memory: KeyValue,
        mask: Bool[Tensor, "#batch key"] | None,
        *,
        beams: int | torch.SymInt = 1,
    ) -> Float[Tensor, "rows d_model"]:
        """Let one vector of each row gather values from a memory projected before.

        A memory serves as many rows as there are `beams`, which follow one another.
        """
        mask = mask[:, None] if mask is not None else None
        q = self._queries(self.q_proj(query), beams)
        return self._gather(q, memory, mask, None, beams)

    def extend(
        self,
        x: Float[Tensor, "rows d_model"],
        cache: KeyValue,
        sight: Sight,
        *,
        beams: int | torch.SymInt = 1,
    ) -> tuple[Float[Tensor, "rows d_model"], KeyValue]:
        """Add a vector of each row to `cache` and let it attend to all that is there.

        Self-attention of one decoding step: `sight` is that of the new vectors on the cache and on
        themselves. A cache serves as many rows as there are `beams`, which `sight` tells apart.
        """
        q, k, v = self._project(x)
        q = self._queries(q, beams)  # [batch, kv_heads, query, d_k]
        k = self.k_norm(_by_target(k, self.kv_heads, beams))  # [batch, kv_heads, beam, d_k]
        v = _by_target(v, self.kv_heads, beams)
        order = sight.order
        if isinstance(order, Rotation):
            q, k = order.turn(q), order.turn(k)
        longer = KeyValue(torch.cat([cache.k, k], dim=2), torch.cat([cache.v, v], dim=2))
        offsets = order.products(self._scaled(q)) if isinstance(order, KeyOffsets) else None
        return self._gather(q, longer, sight.mask, offsets, beams), longer

    def empty_cache(self, rows: Int[Tensor, "batch ..."]) -> KeyValue:
        """Return a cache of no positions, of the projections' type, for as many `rows`."""
        weight, shape = self.out_proj.weight, (rows.shape[0], self.kv_heads, 0)
        return KeyValue(weight.new_zeros(*shape, self.d_k), weight.new_zeros(*shape, self.d_v))

    def _attend(
        self,
        q: Float[Tensor, "batch heads query d_k"],
        memory: KeyValue,
        mask: Mask | None,
        offsets: Float[Tensor, "batch heads query key"] | None,
    ) -> Float[Tensor, "batch heads query d_v"]:
        mask = by_head(mask)
        if offsets is not None:
            mask = offsets if mask is None else offsets.masked_fill(~mask, float("-inf"))
        return F.scaled_dot_product_attention(
            q,
            memory.k,
            memory.v,
            attn_mask=mask,
            dropout_p=self.dropout if self.training else 0.0,
            scale=self.scale,
            enable_gqa=self.kv_heads < self.heads,
        )

    def _attend_by_steps(
        self,
        q: Float[Tensor, "batch heads query d_k"],
        memory: KeyValue,
        mask: Mask | None,
        offsets: Float[Tensor, "batch heads query key"] | None,
    ) -> Float[Tensor, "batch heads query d_v"]:
        """Do what `_attend` does where the engine has no kernel for it."""
        group = self.heads // self.kv_heads
        q = (q * self.scale).unflatten(1, (self.kv_heads, group)).flatten(2, 3)
        scores = (q @ memory.k.mT).unflatten(2, (group, -1)).flatten(1, 2)
        weights = self._weights(scores, by_head(mask), offsets)  # [batch, heads, query, key]
        weights = F.dropout(weights, self.dropout, self.training)
        weights = weights.unflatten(1, (self.kv_heads, group)).flatten(2, 3)
        return (weights @ memory.v).unflatten(2, (group, -1)).flatten(1, 2)

    def _project(
        self, x: Float[Tensor, "*rows d_model"]
    ) -> tuple[Float[Tensor, "*rows q"], Float[Tensor, "*rows k"], Float[Tensor, "*rows v"]]:
        """Project what is query and memory at once."""
        if self.joint_proj is None:
            return self.q_proj(x), self.k_proj(x), self.v_proj(x)
        widths = [self.heads * self.d_k, self.kv_heads * self.d_k, self.kv_heads * self.d_v]
        q, k, v = self.joint_proj(x).split(widths, dim=-1)
        return q, k, v

    def _project_memory(
        self, memory: Float[Tensor, "*rows d_model"]
    ) -> tuple[Float[Tensor, "*rows k"], Float[Tensor, "*rows v"]]:
        if self.joint_proj is None:
            return self.k_proj(memory), self.v_proj(memory)
        widths = [self.kv_heads * self.d_k, self.kv_heads * self.d_v]
        k, v = self.joint_proj(memory).split(widths, dim=-1)
        return k, v

    def _keys_values(
        self, k: Float[Tensor, "batch key k"], v: Float[Tensor, "batch key v"]
    ) -> KeyValue:
        return KeyValue(self.k_norm(_by_head(k, self.kv_heads)), _by_head(v, self.kv_heads))

    def _queries(
        self, q: Float[Tensor, "rows width"], beams: int | torch.SymInt
    ) -> Float[Tensor, "batch kv_heads query d_k"]:
        """Let what shares keys stand where queries do: groups of heads, and in each the beams."""
        q = self.q_norm(_by_target(q, self.heads, beams))
        if self.kv_heads < self.heads:
            q = q.unflatten(1, (self.kv_heads, -1)).flatten(2, 3)
        return q

    def _gather(
        self,
        q: Float[Tensor, "batch kv_heads row d_k"],
        memory: KeyValue,
        mask: Mask | None,
        offsets: Float[Tensor, "batch kv_heads row key"] | None,
        beams: int | torch.SymInt,
    ) -> Float[Tensor, "rows d_model"]:
        """Mix values for all queries of each memory, without copying or turning the keys.

        The dropout of training has no place here.
        """
        q, group = self._scaled(q), self.heads // self.kv_heads
        if group == 1 and beams == 1:  # a product with one vector, where engines are quick
            scores = (memory.k @ q[:, :, 0, :, None]).squeeze(-1)[:, :, None]
        else:
            scores = q @ memory.k.mT
        mask = by_head(mask)  # [batch, 1 or heads, 1 or beam, key]
        if mask is not None and group > 1:
            mask = _by_group(mask, group, beams)
        mixed = self._weights(scores, mask, offsets) @ memory.v  # [batch, kv_heads, row, d_v]
        if group > 1:
            mixed = mixed.unflatten(2, (group, -1)).flatten(1, 2)
        if beams != 1:
            mixed = mixed.transpose(1, 2)
        return self.out_proj(mixed.reshape(-1, self.heads * self.d_v))

    def _scaled(
        self, q: Float[Tensor, "batch heads query d_k"]
    ) -> Float[Tensor, "batch heads query d_k"]:
        return q if self.scale == 1.0 else q * self.scale

    def _weights(
        self,
        scores: Float[Tensor, "batch heads query key"],
        mask: Shaped[Tensor, "#batch #heads #query key"] | None,
        offsets: Float[Tensor, "batch heads query key"] | None,
    ) -> Float[Tensor, "batch heads query key"]:
        if offsets is not None:
            scores = scores + offsets
        if self.softcap is not None:
            scores = self.softcap * torch.tanh(scores / self.softcap)
        if mask is None:
            return scores.softmax(dim=-1)
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        else:
            scores = scores + mask
        return scores.softmax(dim=-1)


def by_head(mask: Mask | None) -> Shaped[Tensor, "#batch #heads #query key"] | None:
    """Give a mask that is the same for all heads an axis for them."""
    return mask[:, None] if mask is not None and mask.dtype == torch.bool else mask


def _by_head(
    x: Float[Tensor, "batch time width"], heads: int
) -> Float[Tensor, "batch heads time d_head"]:
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def _by_target(
    x: Float[Tensor, "rows width"], heads: int, beams: int | torch.SymInt
) -> Float[Tensor, "batch heads beam d_head"]:
    """Give what was projected from one vector of each row the axes of a cache."""
    if beams == 1:
        return x.view(-1, heads, 1, x.shape[1] // heads)
    return x.view(-1, beams, heads, x.shape[1] // heads).transpose(1, 2)


def _by_group(
    mask: Shaped[Tensor, "#batch #heads #beam key"], group: int, beams: int | torch.SymInt
) -> Shaped[Tensor, "#batch #kv_heads #query key"]:
    """Let a mask tell apart what stands where queries do."""
    if mask.shape[1] == 1:
        return mask if mask.shape[2] == 1 else mask.repeat(1, 1, group, 1)
    mask = mask.unflatten(1, (-1, group)).expand(-1, -1, -1, beams, -1)
    return mask.flatten(2, 3)
