"""The position-wise network of each layer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor, nn

Plain = Literal["relu", "gelu", "gelu_tanh", "silu", "relu_squared"]
Gated = Literal["swiglu", "geglu", "geglu_tanh", "reglu"]
Activation = Plain | Gated


def relu_squared(x: Float[Tensor, "*batch d_ff"]) -> Float[Tensor, "*batch d_ff"]:
    """Square what is above 0 (So et al., 2021)."""
    return F.relu(x).square()


FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
    "relu_squared": relu_squared,
}
GATES: dict[str, Callable[[Tensor], Tensor]] = {
    "swiglu": F.silu,
    "geglu": F.gelu,
    "geglu_tanh": partial(F.gelu, approximate="tanh"),
    "reglu": F.relu,
}
"""What the gate of each gated activation goes through (Shazeer, 2020)."""


class FeedForward(nn.Module):
    """Widen, activate, narrow (Vaswani et al., 2017, section 3.3).

    The gated activations multiply by a second product, the gate, instead (Shazeer, 2020).
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
        self.gate_proj = nn.Linear(d_model, d_ff, bias=bias) if activation in GATES else None
        self.out_proj = nn.Linear(d_ff, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Transform every vector on its own."""
        return self.out_proj(self.dropout(self._activate(x)))

    def _activate(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_ff"]:
        if self.gate_proj is not None:
            return GATES[self.activation](self.gate_proj(x)) * self.in_proj(x)
        return FUNCTIONS[self.activation](self.in_proj(x))
