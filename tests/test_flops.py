"""The plan counts what torch itself counts: parameters exactly, operations within 1 %."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from random import Random
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.plan import Plan, make_plan
from builder.compile import compile_model
from builder.nn.transformer import Transformer

SOURCE, TARGET, ROWS = 17, 11, 3
VOCAB = {"source": 29, "target": 23}

ATTENTIONS = [
    {"heads": 4, "d_k": 8, "d_v": 8},
    {"heads": 3, "d_k": 6, "d_v": 5, "bias": True},
    {"heads": 1, "d_k": 20, "d_v": 2},
]
POSITIONS: list[Any] = [
    "sinusoidal",
    "rotary",
    "none",
    {"kind": "learned", "max_length": 40},
]
MASKS: list[Any] = ["full", "causal", {"kind": "window", "before": 2}]
NORMS = [
    {"kind": kind, "placement": p} for kind in ("layer_norm", "rms_norm") for p in ("post", "pre")
]
TIES = ["none", "source_target", "source_output", "target_output", "all"]


def stack(draw: Random) -> dict[str, Any]:
    return {
        "layers": draw.randint(1, 3),
        "attention": draw.choice(ATTENTIONS),
        "feed_forward": {
            "d_ff": draw.randint(1, 64),
            "activation": draw.choice(["relu", "gelu", "swiglu"]),
            "bias": draw.random() < 0.5,
        },
        "positions": draw.choice(POSITIONS),
        "norm": draw.choice(NORMS),
        "mask": draw.choice(MASKS),
    }


def drawn(seed: int) -> Blueprint:
    """A blueprint whose choices depend on `seed` alone."""
    draw = Random(seed)
    tie = draw.choice(TIES)
    one = tie not in ("none", "target_output")
    decoder = {**stack(draw), "cross_attention": draw.choice(ATTENTIONS)}
    return blueprint(
        {
            "d_model": draw.randint(1, 20),
            "vocab_size": 23 if one else VOCAB,
            "embeddings": {"tie": tie},
            "encoder": stack(draw),
            "decoder": decoder,
        }
    )


def blueprint(model: dict[str, Any]) -> Blueprint:
    data = {
        "train": {"builtin": "dates"},
        "valid": {"builtin": "dates"},
        "max_length": {"source": SOURCE, "target": TARGET},
    }
    return Blueprint.model_validate({"transom": 1, "name": "any", "model": model, "data": data})


def on_meta(of: Blueprint) -> Transformer:
    with torch.device("meta"):
        return compile_model(of.model)


@pytest.mark.parametrize("seed", range(80))
def test_parameters_equal_those_of_the_compiled_module(seed: int) -> None:
    chosen = drawn(seed)
    compiled = sum(parameter.numel() for parameter in on_meta(chosen).parameters())
    assert make_plan(chosen).parameters.fixed == compiled


def counted(work: Callable[[], object]) -> int:
    with FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


def variants() -> list[Any]:
    """Every attention, feed-forward and mask, in two stacks that differ."""
    return [
        pytest.param(
            {
                "d_model": 16,
                "vocab_size": VOCAB,
                "embeddings": {"tie": "none"},
                "encoder": {
                    "layers": 2,
                    "attention": ATTENTIONS[attention],
                    "feed_forward": {"d_ff": 24, "activation": activation},
                    "mask": mask,
                    "positions": positions,
                },
                "decoder": {
                    "layers": 3,
                    "attention": ATTENTIONS[(attention + 1) % 3],
                    "cross_attention": ATTENTIONS[(attention + 2) % 3],
                    "feed_forward": {"d_ff": 40, "activation": activation, "bias": False},
                    "mask": mask,
                    "positions": positions,
                },
            },
            id=f"attention{attention}-{activation}-{MASKS.index(mask)}-{POSITIONS.index(positions)}",
        )
        for attention, activation, (mask, positions) in product(
            range(3),
            ["relu", "gelu", "swiglu"],
            zip(MASKS, POSITIONS[:1] + POSITIONS[1::2], strict=True),
        )
    ]


@pytest.fixture(params=variants())
def chosen(request: pytest.FixtureRequest) -> Blueprint:
    return blueprint(request.param)


@pytest.fixture
def plan(chosen: Blueprint) -> Plan:
    return make_plan(chosen)


@pytest.fixture
def ids() -> tuple[Tensor, Tensor]:
    return (
        torch.zeros(ROWS, SOURCE, dtype=torch.long, device="meta"),
        torch.zeros(ROWS, TARGET, dtype=torch.long, device="meta"),
    )


def test_operations_agree_with_torch_part_by_part(
    chosen: Blueprint, plan: Plan, ids: tuple[Tensor, Tensor]
) -> None:
    network, (source_ids, target_ids) = on_meta(chosen).eval(), ids
    memory = network.encode(source_ids)
    hidden = network.hidden(source_ids, target_ids)
    encoder = counted(lambda: network.encode(source_ids))
    remembered = counted(lambda: network.decoder.remember(memory))
    output = counted(lambda: network.project(hidden))
    whole = counted(lambda: network(source_ids, target_ids))

    close = 0.01
    by_block, tokens = plan.flops_by_block, (ROWS * SOURCE, ROWS * TARGET)
    reading = by_block["encoder attention"] + by_block["encoder feed-forward"]
    assert reading.source.fixed * tokens[0] == pytest.approx(encoder, rel=close)
    cross = by_block["decoder cross-attention"]
    assert cross.source.fixed * tokens[0] == pytest.approx(remembered, rel=close)
    projected = by_block["output projection"].target.fixed * tokens[1]
    assert projected == pytest.approx(output, rel=close)
    assert plan.flops.source.fixed * tokens[0] == pytest.approx(encoder + remembered, rel=close)
    written = whole - encoder - remembered
    assert plan.flops.target.fixed * tokens[1] == pytest.approx(written, rel=close)


def test_a_training_step_takes_three_times_as_many(
    chosen: Blueprint, plan: Plan, ids: tuple[Tensor, Tensor]
) -> None:
    network = on_meta(chosen).train()
    step = counted(lambda: network(*ids)[..., 2:].sum().backward())

    total = plan.as_dict()["flops"]["training"]
    per_token = (total["per_source_token"]["total"], total["per_target_token"]["total"])
    expected = per_token[0] * ROWS * SOURCE + per_token[1] * ROWS * TARGET
    assert expected == pytest.approx(step, rel=0.01)
