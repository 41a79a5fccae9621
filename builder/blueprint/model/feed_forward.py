"""The position-wise network."""

from __future__ import annotations

from typing import Literal

from builder.blueprint.section import ByLayer, Section, Width

GATED = frozenset({"swiglu", "geglu", "geglu_tanh", "reglu"})
"""The activations that multiply by a gate, a third matrix of the same size."""


class FeedForward(Section):
    """The position-wise network of each layer (Vaswani et al., 2017, section 3.3)."""

    d_ff: ByLayer[Width] = (2048,)
    """Inner width."""
    activation: Literal[
        "relu",
        "gelu",
        "gelu_tanh",
        "silu",
        "relu_squared",
        "swiglu",
        "geglu",
        "geglu_tanh",
        "reglu",
    ] = "relu"
    """`gelu_tanh` is the approximation of gelu by a tanh; `relu_squared` the square of relu (So et
    al., 2021). `swiglu`, `geglu`, `geglu_tanh` (as in T5 v1.1) and `reglu` multiply by a gate, a
    third matrix of the same size (Shazeer, 2020)."""
    bias: bool = True
    """Biases on the projections."""
