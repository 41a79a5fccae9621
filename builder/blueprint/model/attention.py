"""Multi-head attention: heads, their widths, and what happens to the scores."""

from __future__ import annotations

from builder.blueprint.section import ByLayer, Depth, Positive, Section, Width, at_layer


class Attention(Section):
    """Multi-head attention (Vaswani et al., 2017, section 3.2)."""

    heads: ByLayer[Depth] = (8,)
    """Heads; they must divide d_model unless `d_k` is given."""
    kv_heads: Depth | None = None
    """Heads of keys and values, each shared by as many query heads: 1 is multi-query attention
    (Shazeer, 2019), fewer than `heads` grouped-query attention (Ainslie et al., 2023); as many as
    `heads` unless given."""
    d_k: Width | None = None
    """Width of one head's queries and keys; `d_model / heads` of the layer unless given."""
    d_v: Width | None = None
    """Width of one head's values; `d_k` unless given."""
    bias: bool = False
    """Biases on the four projections."""
    scale: Positive | None = None
    """Factor of the scores before softmax; 1/√d_k unless given (1 in T5)."""
    qk_norm: bool = False
    """Each head's queries and keys scaled to a root mean square of one, times a trained weight of
    width d_k, before positions turn them (Henry et al., 2020; the form of OLMo 2 and Qwen 3)."""
    softcap: Positive | None = None
    """Scores pressed between −softcap and softcap by a tanh, before the mask (Gemma 2, 2024)."""


def head_widths(attention: Attention, d_model: int, layer: int) -> tuple[int, int]:
    """The widths `(d_k, d_v)` of one head of a layer, counted from 0."""
    d_k = attention.d_k or d_model // at_layer(attention.heads, layer)
    return d_k, attention.d_v or d_k


def kv_heads(attention: Attention, layer: int) -> int:
    """The heads of keys and values of a layer, counted from 0."""
    return attention.kv_heads or at_layer(attention.heads, layer)
