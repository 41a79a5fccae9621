"""The connection around every sub-layer: a sum, a norm, a dropout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

Placement = Literal["post", "pre"]


class Residual(nn.Module):
    """norm(x + sublayer(x)) (Vaswani et al., 2017, section 5.4), or x + sublayer(norm(x))."""

    def __init__(self, norm: nn.Module, *, placement: Placement, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = norm
        self.placement = placement
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "*batch d_model"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "*batch d_model"]:
        """Run `sublayer`, which keeps the shape, inside the connection."""
        if self.placement == "pre":
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))
