"""A model into the bytes of its key-value caches and of its exported file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from builder.blueprint.model import Attention, Decoder, head_widths, kv_heads
from builder.blueprint.plan.amount import Amount
from builder.blueprint.plan.blocks import Block

FLOAT32, FLOAT16 = 4, 2
"""Bytes."""
SCALE = 5
"""Bytes of the float32 scale and the one-byte zero point of a quantised row or column."""


@dataclass(frozen=True)
class CacheBytes:
    """What generating one sequence keeps of each token, over all decoder layers, in float32."""

    per_target_token: int
    """Keys and values of self-attention."""
    per_source_token: int
    """Keys and values of cross-attention."""


def cache_bytes(decoder: Decoder, d_model: int) -> CacheBytes:
    """Count the bytes of keys and values."""

    def size(attention: Attention) -> int:
        return FLOAT32 * sum(
            kv_heads(attention, layer) * sum(head_widths(attention, d_model, layer))
            for layer in range(decoder.layers)
        )

    return CacheBytes(size(decoder.attention), size(decoder.cross_attention))


def file_bytes(blocks: Iterable[Block]) -> dict[str, Amount]:
    """The weights of an exported file, shared ones once, by precision.

    `int8` takes one byte for each number of a matrix or table, and a scale and a zero point for
    each column of a matrix or row of a table; biases and norms stay in float32. The graph, the
    tokenizer and the proof add some tens of kilobytes in every precision.
    """
    owned = [block for block in blocks if not block.tied_to]
    parameters = sum((block.parameters for block in owned), Amount())
    return {
        "float32": parameters * FLOAT32,
        "float16": parameters * FLOAT16,
        "int8": sum(map(_int8_bytes, owned), Amount()),
    }


def _int8_bytes(block: Block) -> Amount:
    total = Amount()
    for shape in block.shapes.values():
        if len(shape) == 1:
            total += Amount.of(shape) * FLOAT32
        else:
            channels = shape[0] if block.kind == "table" else shape[1]
            total += Amount.of(shape) + Amount.of((channels,)) * SCALE
    return total * block.copies
