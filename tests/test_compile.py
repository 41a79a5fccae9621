from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
import torch
from torch import nn

from builder.blueprint.model import Model
from builder.compile import compile_model
from builder.errors import RunError
from builder.nn.mask import Band, Causal
from builder.nn.positions import LearnedPositions, SinusoidalPositions
from builder.nn.rotary import RotaryPositions
from builder.nn.transformer import Transformer


def compiled(d_model: int, stack: dict[str, Any], **sections: Any) -> Transformer:
    """Compile a model of which both stacks, cross-attention included, are built as `stack`."""
    section = {
        "d_model": d_model,
        "vocab_size": sections.get("vocab_size", 13),
        "embeddings": sections.get("embeddings", {}),
        "encoder": {**stack, **sections.get("encoder", {})},
        "decoder": {
            **stack,
            "cross_attention": stack.get("attention", {}),
            **sections.get("decoder", {}),
        },
    }
    return compile_model(Model.model_validate(section))


def size(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(("kind", "norm_size"), [("layer_norm", 2), ("rms_norm", 1)])
@pytest.mark.parametrize(("placement", "final_norms"), [("post", 0), ("pre", 1)])
@pytest.mark.parametrize(("activation", "matrices"), [("relu", 2), ("gelu", 2), ("swiglu", 3)])
@pytest.mark.parametrize("bias", [0, 1])
def test_every_choice_has_its_parameters(
    kind: str,
    norm_size: int,
    placement: str,
    final_norms: int,
    activation: str,
    matrices: int,
    bias: int,
) -> None:
    d, d_ff, heads, d_k, d_v = 6, 10, 3, 4, 5
    model = compiled(
        d,
        {
            "layers": 2,
            "attention": {"heads": heads, "d_k": d_k, "d_v": d_v, "bias": bool(bias)},
            "feed_forward": {"d_ff": d_ff, "activation": activation, "bias": bool(bias)},
            "norm": {"kind": kind, "placement": placement},
        },
    )

    attention = 2 * d * heads * (d_k + d_v) + bias * (heads * (2 * d_k + d_v) + d)
    feed_forward = matrices * d * d_ff + bias * ((matrices - 1) * d_ff + d)
    norm = norm_size * d
    encoder = 2 * (attention + feed_forward + 2 * norm) + final_norms * norm
    decoder = 2 * (2 * attention + feed_forward + 3 * norm) + final_norms * norm
    assert size(model.encoder) == encoder
    assert size(model.decoder) == decoder
    assert size(model) == encoder + decoder + 13 * d


@pytest.mark.parametrize(
    ("tie", "shared"),
    [
        ("none", set()),
        ("source_target", {"source_target"}),
        ("source_output", {"source_output"}),
        ("target_output", {"target_output"}),
        ("all", {"source_target", "source_output", "target_output"}),
    ],
)
def test_tied_matrices_are_one(tie: str, shared: set[str]) -> None:
    model = compiled(8, {"layers": 1}, embeddings={"tie": tie})
    matrices = {
        "source": model.source_embedding.tokens.weight,
        "target": model.target_embedding.tokens.weight,
        "output": model.output,
    }

    for first, second in combinations(matrices, 2):
        one = matrices[first].data_ptr() == matrices[second].data_ptr()
        assert one == (f"{first}_{second}" in shared)
        assert one == (matrices[first] is matrices[second])
    body = size(model.encoder) + size(model.decoder)
    assert size(model) == body + (3 if not shared else 2 if len(shared) == 1 else 1) * 13 * 8


def test_two_vocabularies_have_tables_of_their_own_size() -> None:
    sizes = {"source": 9, "target": 17}
    model = compiled(8, {"layers": 1}, vocab_size=sizes, embeddings={"tie": "target_output"})

    assert model.source_embedding.tokens.weight.shape == (9, 8)
    assert model.target_embedding.tokens.weight.shape == (17, 8)
    assert model(torch.tensor([[8, 2]]), torch.tensor([[1, 16, 3]])).shape == (1, 3, 17)


def test_the_stacks_differ_freely() -> None:
    model = compile_model(
        Model.model_validate(
            {
                "d_model": 12,
                "vocab_size": 13,
                "encoder": {
                    "layers": 3,
                    "attention": {"heads": 2},
                    "feed_forward": {"d_ff": 20, "activation": "swiglu"},
                    "positions": {"kind": "rotary", "base": 7.0},
                    "norm": {"kind": "rms_norm", "placement": "pre", "eps": 0.5},
                    "mask": {"kind": "window", "before": 4, "after": 1},
                },
                "decoder": {
                    "layers": 1,
                    "attention": {"heads": 3, "d_k": 5},
                    "cross_attention": {"heads": 1, "d_v": 7, "bias": True},
                    "positions": {"kind": "learned", "max_length": 9},
                    "mask": {"kind": "window", "before": 2},
                },
            }
        )
    )

    assert (len(model.encoder.layers), len(model.decoder.layers)) == (3, 1)
    assert model.encoder.masks == (Band(4, 1),) * 3
    assert model.decoder.masks == (Causal(Band(2, 0)),)
    reader: Any = model.encoder.layers[0]
    writer: Any = model.decoder.layers[0]
    assert reader.self_attention.q_proj.weight.shape == (12, 12)
    assert writer.self_attention.v_proj.weight.shape == (15, 12)
    assert writer.cross_attention.k_proj.weight.shape == (12, 12)
    assert writer.cross_attention.v_proj.weight.shape == (7, 12)
    (rotary,) = set(model.encoder.positions)
    assert isinstance(rotary, RotaryPositions)
    x, positions = torch.randn(1, 2, 5, 6), torch.arange(5)
    turned = RotaryPositions(6, base=7.0)(positions, positions).turn(x)
    assert torch.equal(rotary(positions, positions).turn(x), turned)
    assert list(model.decoder.positions) == [None]
    assert model.source_embedding.positions is None
    assert isinstance(model.target_embedding.positions, LearnedPositions)
    assert reader.attention_residual.norm.eps == model.encoder.final_norm.eps == 0.5
    assert isinstance(model.decoder.final_norm, nn.Identity)


def test_each_stack_reads_its_own_base() -> None:
    model = compiled(
        8,
        {"layers": 1, "positions": {"kind": "sinusoidal", "base": 5.0}},
        decoder={"positions": "sinusoidal"},
    )

    for embedding, base in ((model.source_embedding, 5.0), (model.target_embedding, 10_000.0)):
        assert isinstance(embedding.positions, SinusoidalPositions)
        expected = SinusoidalPositions(8, base=base)(torch.arange(5))
        assert torch.equal(embedding.positions(torch.arange(5)), expected)


def test_every_dropout_comes_where_it_belongs() -> None:
    shares = {"residual": 0.1, "embedding": 0.2, "attention": 0.3, "activation": 0.4}
    others = {key: value + 0.5 for key, value in shares.items()}
    model = compiled(8, {"layers": 2, "dropout": shares}, decoder={"dropout": others})

    for embedding, layers, share in (
        (model.source_embedding, model.encoder.layers, shares),
        (model.target_embedding, model.decoder.layers, others),
    ):
        assert embedding.dropout.p == share["embedding"]
        for name, module in layers.named_modules():
            if name.endswith("residual"):
                assert module.dropout.p == share["residual"]
            elif name.endswith("attention"):
                assert module.dropout == share["attention"]
            elif name.endswith("feed_forward"):
                assert module.dropout.p == share["activation"]


def test_the_names_of_the_weights_are_these_for_good() -> None:
    model = compiled(8, {"layers": 1, "norm": {"kind": "rms_norm", "placement": "pre"}})
    attention = [f"{side}_proj.weight" for side in ("q", "k", "v", "out")]
    feed_forward = [f"feed_forward.{s}_proj.{p}" for s in ("in", "out") for p in ("weight", "bias")]
    encoder = [
        *[f"self_attention.{name}" for name in attention],
        *feed_forward,
        "attention_residual.norm.weight",
        "feed_forward_residual.norm.weight",
    ]
    decoder = [
        *[f"self_attention.{name}" for name in attention],
        *[f"cross_attention.{name}" for name in attention],
        *feed_forward,
        "self_residual.norm.weight",
        "cross_residual.norm.weight",
        "feed_forward_residual.norm.weight",
    ]

    assert {name for name, _ in model.named_parameters()} == {
        "output",
        *[f"encoder.layers.0.{name}" for name in encoder],
        *[f"decoder.layers.0.{name}" for name in decoder],
        "encoder.final_norm.weight",
        "decoder.final_norm.weight",
    }


def test_an_unknown_vocabulary_is_refused() -> None:
    with pytest.raises(RunError, match=r"model\.vocab_size"):
        compile_model(Model.model_validate({}))
