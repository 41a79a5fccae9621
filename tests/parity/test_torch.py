"""The network computes what `torch.nn.Transformer` computes, weight for weight."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from builder.blueprint.load import load_blueprint
from builder.blueprint.model import Model
from builder.compile import compile_model
from builder.nn.transformer import BOS_ID, PAD_ID, Transformer

Record = Callable[[str, object], None]

OVERRIDES = (
    "model.d_model=32",
    "model.layers=2",
    "model.attention={heads: 4, bias: true}",
    "model.feed_forward.d_ff=56",
    "model.norm.final=true",  # torch ends both stacks with a norm, wherever the others are
    "model.vocab_size=60",
    "tokenizer.vocab_size=60",
)
NORMS = {
    "encoder": {"attention_residual": "norm1", "feed_forward_residual": "norm2"},
    "decoder": {
        "self_residual": "norm1",
        "cross_residual": "norm2",
        "feed_forward_residual": "norm3",
    },
}
PRECISIONS = [(torch.float32, 1e-5), (torch.float64, 1e-10)]


@pytest.fixture(autouse=True)
def _seed() -> Iterator[None]:
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture(params=product(["post", "pre"], ["relu", "gelu"]), ids="-".join)
def model(request: pytest.FixtureRequest) -> Model:
    placement, activation = request.param
    choices = (f"model.norm.placement={placement}", f"model.feed_forward.activation={activation}")
    return load_blueprint("transformer-base", (*OVERRIDES, *choices)).model


def ours(model: Model) -> Transformer:
    """Build our network, with weights of which none is a plain 0 or 1."""
    network = compile_model(model).eval()
    with torch.no_grad():
        for weight in network.parameters():
            weight.add_(torch.randn_like(weight), alpha=0.15)
    return network


def theirs(model: Model) -> nn.Transformer:
    """Build torch's, which has no embeddings and no output projection."""
    layer: dict[str, Any] = {
        "d_model": model.d_model,
        "nhead": model.encoder.attention.heads[0],
        "dim_feedforward": model.encoder.feed_forward.d_ff[0],
        "activation": model.encoder.feed_forward.activation,
        "norm_first": model.encoder.norm.placement == "pre",
        "batch_first": True,
    }
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**layer),
        model.encoder.layers,
        nn.LayerNorm(model.d_model),
        enable_nested_tensor=False,
    )
    return nn.Transformer(
        **layer, custom_encoder=encoder, num_decoder_layers=model.decoder.layers
    ).eval()


def as_torch(network: Transformer) -> dict[str, Tensor]:
    """Name our weights as torch does, the three projections of an attention in one."""
    own = {name: weight.detach() for name, weight in network.named_parameters()}
    state = {}
    for stack, norms in NORMS.items():
        for kind, place in product(["weight", "bias"], range(2)):
            layer = f"{stack}.layers.{place}."
            for attention in ("self", "cross") if stack == "decoder" else ("self",):
                here = f"{layer}{attention}_attention."
                there = f"{layer}{'self_attn' if attention == 'self' else 'multihead_attn'}."
                inner = [own[f"{here}{side}_proj.{kind}"] for side in "qkv"]
                state[f"{there}in_proj_{kind}"] = torch.cat(inner)
                state[f"{there}out_proj.{kind}"] = own[f"{here}out_proj.{kind}"]
            state[f"{layer}linear1.{kind}"] = own[f"{layer}feed_forward.in_proj.{kind}"]
            state[f"{layer}linear2.{kind}"] = own[f"{layer}feed_forward.out_proj.{kind}"]
            for residual, norm in norms.items():
                state[f"{layer}{norm}.{kind}"] = own[f"{layer}{residual}.norm.{kind}"]
        for kind in ("weight", "bias"):
            state[f"{stack}.norm.{kind}"] = own[f"{stack}.final_norm.{kind}"]
    return state


def subject(model: Model) -> str:
    """Say what is compared, for the table."""
    stack = model.encoder
    return f"torch.nn.Transformer, {stack.norm.placement}-norm, {stack.feed_forward.activation}"


@pytest.mark.parametrize(("precision", "tolerance"), PRECISIONS, ids=["float32", "float64"])
def test_the_same_states_and_logits(
    model: Model, precision: torch.dtype, tolerance: float, record_property: Record
) -> None:
    torch.set_default_dtype(precision)
    network, twin = ours(model), theirs(model)
    twin.load_state_dict(as_torch(network))
    source, target = torch.randint(2, 60, (2, 3, 40))
    source[1, 20:] = source[2, 5:] = PAD_ID
    target[:, 0] = BOS_ID

    with torch.no_grad():
        padding = source == PAD_ID
        memory = twin.encoder(network.source_embedding(source), src_key_padding_mask=padding)
        hidden = twin.decoder(
            network.target_embedding(target),
            memory,
            tgt_mask=torch.ones(40, 40).triu(1).bool(),
            memory_key_padding_mask=padding,
        )
        states = (network.encode(source) - memory)[~padding].abs().max().item()
        expected = hidden @ network.output.T
        logits = (network(source, target) - expected)[..., 2:].abs().max().item()

    record_property("subject", subject(model))
    record_property(str(precision).removeprefix("torch."), (states, logits))
    assert max(states, logits) <= tolerance


def test_the_same_parameters(model: Model, record_property: Record) -> None:
    network = ours(model)

    expected = sum(weight.numel() for weight in theirs(model).parameters())

    record_property("subject", subject(model))
    record_property("parameters", expected)
    stacks = (network.encoder, network.decoder)
    assert sum(weight.numel() for stack in stacks for weight in stack.parameters()) == expected
