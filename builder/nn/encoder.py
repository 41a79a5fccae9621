"""The stack that reads the source."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Bool, Float
from torch import Tensor, nn

from builder.nn.attention import MultiHeadAttention
from builder.nn.feed_forward import FeedForward
from builder.nn.mask import Band, encoder_mask
from builder.nn.residual import Residual


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
        self, x: Float[Tensor, "batch source d_model"], mask: Bool[Tensor, "batch source source"]
    ) -> Float[Tensor, "batch source d_model"]:
        """Mix positions, then transform each."""
        x = self.attention_residual(x, lambda y: self.self_attention(y, y, mask))
        return self.feed_forward_residual(x, self.feed_forward)


class Encoder(nn.Module):
    """Layers of one width, with one more norm at the end where each sub-layer norms its input."""

    def __init__(
        self, layers: Sequence[EncoderLayer], *, band: Band, final_norm: nn.Module | None
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.band = band
        self.final_norm = final_norm or nn.Identity()

    def forward(
        self, x: Float[Tensor, "batch source d_model"], real: Bool[Tensor, "batch source"]
    ) -> Float[Tensor, "batch source d_model"]:
        """Read embedded sources; `real` is False on padding."""
        mask = encoder_mask(self.band, real)
        for layer in self.layers:
            x = layer(x, mask)
        return self.final_norm(x)
