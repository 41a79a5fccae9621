"""The stack that reads the source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from builder.nn.attention import MultiHeadAttention
from builder.nn.feed_forward import FeedForward
from builder.nn.mask import Pattern, encoder_mask
from builder.nn.residual import Residual
from builder.nn.sight import AttentionPositions, Sight, sights


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward network (Vaswani et al., 2017, section 3.1)."""

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        feed_forward: FeedForward,
        residuals: Sequence[Residual],
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.feed_forward = feed_forward
        self.attention_residual, self.feed_forward_residual = residuals

    def forward(
        self, x: Float[Tensor, "batch source d_model"], sight: Sight
    ) -> Float[Tensor, "batch source d_model"]:
        """Mix positions, then transform each."""
        x = self.attention_residual(x, lambda y: self.self_attention(y, y, *sight))
        return self.feed_forward_residual(x, self.feed_forward)


class Encoder(nn.Module):
    """Layers of one width, with one more norm at the end where the last one's output has none.

    A layer may stand in several places, its weights once. `masks` and `positions` hold what the
    self-attention of each place sees and how it learns the order; what is the same in several is
    computed once.
    """

    def __init__(
        self,
        layers: Sequence[EncoderLayer],
        *,
        masks: Sequence[Pattern],
        positions: Sequence[AttentionPositions | None],
        final_norm: nn.Module | None,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.masks = tuple(masks)
        self.positions = nn.ModuleList(cast("Iterable[nn.Module]", positions))
        self.final_norm = final_norm or nn.Identity()

    def forward(
        self, x: Float[Tensor, "batch source d_model"], real: Bool[Tensor, "batch source"]
    ) -> Float[Tensor, "batch source d_model"]:
        """Read embedded sources; `real` is False on padding."""
        places = torch.arange(x.shape[1], device=x.device)
        visible = {pattern: encoder_mask(pattern, real) for pattern in dict.fromkeys(self.masks)}
        told = sights(self._pairs(), visible, query=places, key=places, dtype=x.dtype)
        for layer, sight in zip(self.layers, told, strict=True):
            x = layer(x, sight)
        return self.final_norm(x)

    def _pairs(self) -> list[tuple[Pattern, AttentionPositions | None]]:
        positions = cast("Iterable[AttentionPositions | None]", self.positions)
        return list(zip(self.masks, positions, strict=True))
