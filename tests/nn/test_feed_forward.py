from __future__ import annotations

import math
from collections.abc import Callable
from typing import get_args

import pytest
import torch
from torch import Tensor

from builder.nn.feed_forward import Activation, FeedForward, Gated, Plain

PLAIN: dict[str, Callable[[float], float]] = {
    "relu": lambda x: max(0.0, x),
    "gelu": lambda x: x / 2 * (1 + math.erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + math.exp(-x)),
    "relu_squared": lambda x: max(0.0, x) ** 2,
}
GATED = {"swiglu": "silu", "geglu": "gelu", "geglu_tanh": "gelu_tanh", "reglu": "relu"}
"""What the gate goes through."""


def by_hand(network: FeedForward, vector: Tensor, activation: Activation) -> Tensor:
    weights = {name: value.detach() for name, value in network.named_parameters()}

    def linear(name: str, x: Tensor) -> Tensor:
        return weights[f"{name}.weight"] @ x + weights.get(f"{name}.bias", 0.0)

    wide = linear("in_proj", vector).tolist()
    if activation in PLAIN:
        active = [PLAIN[activation](x) for x in wide]
    else:
        gate = linear("gate_proj", vector).tolist()
        active = [PLAIN[GATED[activation]](g) * x for g, x in zip(gate, wide, strict=True)]
    return linear("out_proj", torch.tensor(active))


@pytest.mark.parametrize("activation", [*get_args(Plain), *get_args(Gated)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(6,), (2, 6), (2, 3, 6)])
def test_every_vector_is_transformed_on_its_own(
    activation: Activation, bias: bool, shape: tuple[int, ...]
) -> None:
    network = FeedForward(6, 10, activation=activation, bias=bias)
    x = torch.randn(shape)

    rows = [by_hand(network, vector, activation) for vector in x.reshape(-1, 6)]

    expected = torch.stack(rows).reshape(shape)
    torch.testing.assert_close(network(x), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("bias", [True, False])
def test_only_the_gated_ones_have_a_third_matrix(bias: bool) -> None:
    def names(activation: Activation) -> set[str]:
        network = FeedForward(6, 10, activation=activation, bias=bias)
        return {name for name, _ in network.named_parameters()}

    plain = {"in_proj.weight", "out_proj.weight"}
    gate = {"gate_proj.weight"}
    if bias:
        plain |= {"in_proj.bias", "out_proj.bias"}
        gate |= {"gate_proj.bias"}
    assert all(names(activation) == plain for activation in get_args(Plain))
    assert all(names(activation) == plain | gate for activation in get_args(Gated))


def test_dropout_falls_on_the_activation_and_only_in_training() -> None:
    network = FeedForward(1, 64, bias=False, dropout=0.5)
    with torch.no_grad():
        network.in_proj.weight.fill_(1.0)
        network.out_proj.weight.fill_(1.0)
    x = torch.ones(1, 1)

    kept = network(x).item() / 2  # what is kept is doubled

    assert kept == int(kept)
    assert 0 < kept < 64
    assert network.eval()(x).item() == 64
