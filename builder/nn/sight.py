"""The masks and positions of a stack's layers into what each self-attention is told of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from builder.nn.bias import ALiBi, RelativeBias
from builder.nn.relative_keys import KeyOffsets, RelativeKeys
from builder.nn.rotary import RotaryPositions, Rotation

AttentionPositions = RotaryPositions | ALiBi | RelativeBias | RelativeKeys
"""The positions that self-attention itself knows."""

Mask = Bool[Tensor, "#batch #query key"] | Float[Tensor, "#batch heads query key"]
"""True where attending is allowed; or what is added to the scores, −inf where it is not."""

P = TypeVar("P")


class Sight(NamedTuple):
    """Who sees whom, and how queries and keys learn where they stand."""

    mask: Mask | None = None
    """None allows everything."""
    order: Rotation | KeyOffsets | None = None


def sights(
    pairs: Sequence[tuple[P, AttentionPositions | None]],
    visible: Mapping[P, Bool[Tensor, "#batch row key"] | None],
    *,
    query: Int[Tensor, " query"],
    key: Int[Tensor, " key"],
    dtype: torch.dtype,
) -> list[Sight]:
    """Return the sight of each layer, whose mask and positions are a pair.

    `visible` holds the tensor of each mask, `query` and `key` the positions that they compare; the
    rows of a mask are its queries, or several targets whose only query stands at one position.
    Layers that agree share their tensors, which are computed once.
    """
    orders = {
        positions: positions(query, key) if positions is not None else None
        for positions in dict.fromkeys(positions for _, positions in pairs)
    }
    distinct = {
        (mask, positions): _sight(visible[mask], orders[positions], dtype)
        for mask, positions in dict.fromkeys(pairs)
    }
    return [distinct[pair] for pair in pairs]


def _sight(
    mask: Bool[Tensor, "#batch row key"] | None,
    order: Rotation | KeyOffsets | Float[Tensor, "heads query key"] | None,
    dtype: torch.dtype,
) -> Sight:
    if not isinstance(order, Tensor):
        return Sight(mask, order)
    bias = order.to(dtype)[None]  # [1, heads, query, key]
    return Sight(bias if mask is None else bias.masked_fill(~mask[:, None], float("-inf")))
