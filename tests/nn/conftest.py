"""Every variant of the network, and the float64 in which formulas are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle, product
from typing import Any

import pytest
import torch
from torch import nn

from builder.blueprint.model import Model
from builder.compile import compile_model
from builder.nn.attention import MultiHeadAttention
from builder.nn.transformer import Transformer

POSITIONS: dict[str, Any] = {
    "sinusoidal": "sinusoidal",
    "learned": {"kind": "learned", "max_length": 30},
    "rotary": "rotary",
    "none": "none",
}
MASKS: dict[str, tuple[Any, Any]] = {  # of encoder and decoder
    "full": ("full", "full"),
    "causal": ("causal", "causal"),
    "window": (
        {"kind": "window", "before": 2, "after": 1},
        {"kind": "window", "before": 2, "after": 0},
    ),
}
NORMS = list(product(["layer_norm", "rms_norm"], ["post", "pre"]))
ACTIVATIONS = ["relu", "gelu", "swiglu"]
TIES = ["none", "source_target", "source_output", "target_output", "all"]


def variants() -> Iterator[Any]:
    """All positions × masks × norms; activations, ties and biases go round among them."""
    others = zip(cycle(ACTIVATIONS), cycle(TIES), cycle([True, False, False]), strict=True)
    choices = zip(product(POSITIONS, MASKS, NORMS), others, strict=False)
    for (positions, mask, norm), (activation, tie, bias) in choices:
        stack = {
            "layers": 2,
            "attention": {"heads": 4, "d_k": 6, "d_v": 5, "bias": bias},
            "feed_forward": {"d_ff": 24, "activation": activation, "bias": not bias},
            "positions": POSITIONS[positions],
            "norm": {"kind": norm[0], "placement": norm[1]},
        }
        cross_attention = {"heads": 2, "d_k": 7, "d_v": 3, "bias": not bias}
        model = {
            "d_model": 16,
            "vocab_size": 13,
            "embeddings": {"tie": tie, "scale": bias},
            "encoder": {**stack, "mask": MASKS[mask][0]},
            "decoder": {**stack, "mask": MASKS[mask][1], "cross_attention": cross_attention},
        }
        yield pytest.param(model, id="-".join([positions, mask, *norm, activation, tie]))
    yield pytest.param(by_layer(), id="by_layer")


def by_layer() -> dict[str, Any]:
    """Everything that may differ by layer does."""
    stack = {
        "layers": 3,
        "attention": {"heads": [4, 2]},
        "feed_forward": {"d_ff": [24, 8, 16]},
        "positions": ["rotary", "none"],
        "mask": [MASKS["window"][1], "causal"],
    }
    return {"d_model": 16, "vocab_size": 13, "encoder": stack, "decoder": stack}


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture(params=variants())
def variant(request: pytest.FixtureRequest) -> Model:
    return Model.model_validate(request.param)


@pytest.fixture
def model(variant: Model) -> Transformer:
    """The network of `variant` with weights of which none is a plain 0 or 1, in evaluation mode."""
    network = compile_model(variant).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return network


@pytest.fixture
def as_torch() -> Callable[[MultiHeadAttention], nn.MultiheadAttention]:
    """Make torch's attention with the same weights."""
    return twin


def twin(ours: MultiHeadAttention) -> nn.MultiheadAttention:
    bias = ours.q_proj.bias is not None
    theirs = nn.MultiheadAttention(ours.q_proj.in_features, ours.heads, bias=bias, batch_first=True)
    projections = [ours.q_proj, ours.k_proj, ours.v_proj]
    state = {
        "in_proj_weight": torch.cat([each.weight for each in projections]),
        "out_proj.weight": ours.out_proj.weight,
    }
    if bias:
        state["in_proj_bias"] = torch.cat([each.bias for each in projections])
        state["out_proj.bias"] = ours.out_proj.bias
    theirs.load_state_dict(state)
    return theirs
