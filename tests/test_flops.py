"""The plan counts what torch itself counts: parameters exactly, operations within 1 %."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from random import Random
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.bundled import bundled_blueprints
from builder.blueprint.load import load_blueprint
from builder.blueprint.model import Vocabularies
from builder.blueprint.plan import Plan, make_plan
from builder.blueprint.plan.flops import Flops
from builder.compile import compile_model
from builder.nn.transformer import Transformer

SOURCE, TARGET, ROWS = 17, 11, 3
VOCAB = {"source": 29, "target": 23}

ATTENTIONS = [
    {"heads": 4, "d_k": 8, "d_v": 8},
    {"heads": 3, "d_k": 6, "d_v": 5, "bias": True},
    {"heads": 1, "d_k": 20, "d_v": 2},
    {"heads": [4, 2]},
    {"heads": [2, 4, 1], "d_k": 6},
    {"heads": 4, "kv_heads": 2, "d_k": 6, "softcap": 20},
    {"heads": 4, "kv_heads": 1, "d_k": 4, "d_v": 6, "qk_norm": True, "scale": 0.3},
]
POSITIONS: list[Any] = [
    "sinusoidal",
    "rotary",
    "none",
    {"kind": "learned", "max_length": 40},
    ["rotary", "none"],
    "alibi",
    "relative_bias",
    {"kind": "relative_keys", "max_distance": 4},
]
MASKS: list[Any] = [
    "full",
    "causal",
    {"kind": "window", "before": 2},
    ["full", {"kind": "window", "before": 2}],
    {"kind": "block", "size": 3},
    {"kind": "window", "before": 1, "global_tokens": 2},
]
ACTIVATIONS = ["relu", "gelu", "swiglu", "gelu_tanh", "silu", "relu_squared", "geglu", "reglu"]
NORMS: list[Any] = [
    {"kind": kind, "placement": placement}
    for kind in ("layer_norm", "rms_norm")
    for placement in ("post", "pre", "sandwich", "deepnorm")
]
NORMS += [{"kind": "layer_norm", "bias": False}, {"kind": "rms_norm", "final": True}]
TIES = ["none", "source_target", "source_output", "target_output", "all"]


def stack(draw: Random) -> dict[str, Any]:
    chosen = {
        "layers": draw.randint(3, 4),
        "attention": draw.choice(ATTENTIONS),
        "feed_forward": {
            "d_ff": draw.choice([draw.randint(1, 64), [9, 20, 33]]),
            "activation": draw.choice(ACTIVATIONS),
            "bias": draw.random() < 0.5,
        },
        "positions": draw.choice(POSITIONS),
        "norm": draw.choice(NORMS),
        "mask": draw.choice(MASKS),
    }
    alike = not any(isinstance(value, list) for value in _values(chosen))
    return {**chosen, "share_layers": alike and draw.random() < 0.5}


def _values(section: dict[str, Any]) -> Iterator[Any]:
    for value in section.values():
        yield value
        if isinstance(value, dict):
            yield from _values(value)


def drawn(seed: int) -> Blueprint:
    """A blueprint whose choices depend on `seed` alone."""
    draw = Random(seed)
    tie = draw.choice(TIES)
    one = tie not in ("none", "target_output")
    decoder = stack(draw)
    crosses = [each for each in ATTENTIONS if not decoder["share_layers"] or one_size(each)]
    decoder["cross_attention"] = draw.choice(crosses)
    return blueprint(
        {
            "d_model": draw.choice([4, 8, 12, 20]),
            "vocab_size": 23 if one else VOCAB,
            "embeddings": {
                "tie": tie,
                "norm": draw.random() < 0.5,
                "output": {"bias": draw.random() < 0.5},
            },
            "encoder": stack(draw),
            "decoder": decoder,
        }
    )


def one_size(attention: dict[str, Any]) -> bool:
    return not isinstance(attention["heads"], list)


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
                    "attention": ATTENTIONS[(attention + 1) % len(ATTENTIONS)],
                    "cross_attention": ATTENTIONS[(attention + 2) % len(ATTENTIONS)],
                    "feed_forward": {"d_ff": 40, "activation": activation, "bias": False},
                    "mask": mask,
                    "positions": positions,
                },
            },
            id=f"attention{attention}-{activation}-{MASKS.index(mask)}-{POSITIONS.index(positions)}",
        )
        for attention, (number, (mask, positions)) in product(
            range(len(ATTENTIONS)),
            enumerate(zip([*MASKS, "full"], [*POSITIONS[:2], *POSITIONS[3:]], strict=True)),
        )
        for activation in (ACTIVATIONS[(attention + number) % len(ACTIVATIONS)],)
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


def flops_of(plan: Plan, name: str) -> Flops:
    """Of a part, over all its layers, alike or not."""
    parts = [flops for block, flops in plan.flops_by_block.items() if block.startswith(name)]
    assert parts
    return sum(parts, Flops())


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
    tokens = (ROWS * SOURCE, ROWS * TARGET)
    reading = flops_of(plan, "encoder attention") + flops_of(plan, "encoder feed-forward")
    assert reading.source.fixed * tokens[0] == pytest.approx(encoder, rel=close)
    cross = flops_of(plan, "decoder cross-attention")
    assert cross.source.fixed * tokens[0] == pytest.approx(remembered, rel=close)
    projected = flops_of(plan, "output projection").target.fixed * tokens[1]
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


@pytest.mark.parametrize("name", bundled_blueprints())
def test_bundled_blueprints_are_counted_at_full_size(name: str) -> None:
    """On the meta device: no weight of these hundreds of millions is ever there."""
    original = load_blueprint(name)
    rows = original.model.vocab_size or Vocabularies(source=1_000, target=1_000)
    model = original.model.model_copy(update={"vocab_size": rows})
    whole = original.model_copy(update={"model": model})
    network, plan = on_meta(whole).eval(), make_plan(whole)
    source, target = plan.lengths.source, plan.lengths.target

    assert plan.parameters.fixed == sum(p.numel() for p in network.parameters())
    ids = [torch.zeros(1, n, dtype=torch.long, device="meta") for n in (source, target)]
    flops = plan.flops.source.fixed * source + plan.flops.target.fixed * target
    assert flops == pytest.approx(counted(lambda: network(*ids)), rel=0.01)
