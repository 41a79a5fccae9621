"""The connection around every sub-layer: a sum, a norm, a dropout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

Placement = Literal["post", "pre", "sandwich"]


class Residual(nn.Module):
    """Run a sub-layer beside the identity and norm, as its placement says.

    `post` is norm(alpha · x + sublayer(x)): with alpha 1 that of the paper (Vaswani et al., 2017,
    section 5.4), with more that of deepnorm (Wang et al., 2022). `pre` is x + sublayer(norm(x)),
    `sandwich` x + norm_after(sublayer(norm(x))) (Ding et al., 2021).
    """

    def __init__(
        self,
        norm: nn.Module,
        *,
        placement: Placement,
        norm_after: nn.Module | None = None,
        alpha: float = 1.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.norm = norm
        self.placement = placement
        self.norm_after = norm_after or nn.Identity()
        self.alpha = alpha
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "*batch d_model"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "*batch d_model"]:
        """Run `sublayer`, which keeps the shape, inside the connection."""
        if self.placement == "post":
            return self.norm(torch.add(self.dropout(sublayer(x)), x, alpha=self.alpha))
        return x + self.dropout(self.norm_after(sublayer(self.norm(x))))


class DeepNorm(NamedTuple):
    """How much deepnorm weighs the identity, and by what it multiplies fresh weights."""

    alpha: float
    beta: float


def deepnorm(encoder_layers: int, decoder_layers: int) -> tuple[DeepNorm, DeepNorm]:
    """Return the constants of an encoder and of its decoder (Wang et al., 2022, Figure 2)."""
    depth = (encoder_layers**4 * decoder_layers) ** (1 / 16)
    encoder = DeepNorm(0.81 * depth, 0.87 / depth)
    decoder = DeepNorm((3 * decoder_layers) ** (1 / 4), (12 * decoder_layers) ** (-1 / 4))
    return encoder, decoder
