"""The position-wise network of each layer."""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor, nn

Activation = Literal["relu", "gelu", "swiglu"]


class FeedForward(nn.Module):
    """Widen, activate, narrow (Vaswani et al., 2017, section 3.3).

    `swiglu` multiplies by silu of a gate instead (Shazeer, 2020).
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: Activation = "relu",
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.activation = activation
        self.in_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.gate_proj = nn.Linear(d_model, d_ff, bias=bias) if activation == "swiglu" else None
        self.out_proj = nn.Linear(d_ff, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Transform every vector on its own."""
        return self.out_proj(self.dropout(self._activate(x)))

    def _activate(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_ff"]:
        if self.gate_proj is not None:
            return F.silu(self.gate_proj(x)) * self.in_proj(x)
        wide = self.in_proj(x)
        return F.relu(wide) if self.activation == "relu" else F.gelu(wide)
