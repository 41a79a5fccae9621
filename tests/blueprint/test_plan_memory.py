"""Bytes in the plan are those of the real weights, gradients, moments, caches and activations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
from torch import Tensor

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.plan import Plan, make_plan, memory
from builder.compile import compile_model
from builder.nn.transformer import Transformer
from builder.training import loss

Parse = Callable[..., Blueprint]

TEXT = """
model:
  d_model: 24
  layers: 2
  vocab_size: 30
  attention: {heads: 3, d_k: 8, d_v: 8}
  feed_forward: {d_ff: 60}
  decoder: {cross_attention: {heads: 2, d_k: 6, d_v: 5}}
data: {builtin: dates, max_length: {source: 50, target: 40}}
training: {batch_tokens: 130, steps: 1}
"""
PAIRS, SOURCE, TARGET = 3, 50, 40


def size(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.nbytes for tensor in tensors)


def ids(pairs: int = PAIRS, source: int = SOURCE, target: int = TARGET) -> tuple[Tensor, Tensor]:
    return torch.randint(4, 30, (pairs, source)), torch.randint(4, 30, (pairs, target))


def test_weights_gradients_and_moments_are_exact(parse: Parse) -> None:
    blueprint = parse(TEXT)
    network, plan = compile_model(blueprint.model), make_plan(blueprint)
    optimizer = torch.optim.Adam(network.parameters())
    loss.add_gradients(network, *ids(), smoothing=0.1, tokens=PAIRS * TARGET)
    optimizer.step()

    weights = list(network.parameters())
    assert plan.memory.weights.fixed == size(weights)
    assert plan.memory.gradients.fixed == size(p.grad for p in weights if p.grad is not None)
    moments = [optimizer.state[p][key] for p in weights for key in ("exp_avg", "exp_avg_sq")]
    assert plan.memory.moments.fixed == size(moments)
    assert plan.memory.total.fixed == sum(part.fixed for part in plan.memory.parts().values())


def kept_by_autograd(network: Transformer, source_ids: Tensor, target_ids: Tensor) -> int:
    """Bytes that a forward pass keeps for the backward pass, and its output."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in network.parameters()}
    kept: dict[int, Any] = {}

    def keep(tensor: Tensor) -> Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        hidden = network.hidden(source_ids, target_ids)
    kept[hidden.untyped_storage().data_ptr()] = hidden.untyped_storage()
    return sum(storage.nbytes() for place, storage in kept.items() if place not in weights)


NEW_ACTIVATIONS = ["gelu_tanh", "silu", "relu_squared", "geglu", "geglu_tanh", "reglu"]
CHANGES = [
    (),
    ("model.dropout=0",),
    ("model.dropout=0", "model.attention.d_v=5"),
    ("model.dropout={attention: 0}",),
    ("model.dropout={residual: 0, embedding: 0}",),
    ("model.feed_forward.activation=gelu",),
    ("model.feed_forward.activation=swiglu", "model.norm=rms_norm"),
    ("model.feed_forward.activation=gelu", "model.dropout=0", "model.norm.placement=pre"),
    ("model.feed_forward.activation=swiglu", "model.dropout=0", "model.positions=none"),
    ("model.norm={kind: rms_norm, placement: pre}", "model.positions=rotary"),
    ("model.decoder={layers: 4, feed_forward: {d_ff: 7}}",),
    ("model.attention={heads: [3, 1], d_k: 8, d_v: 8}", "model.feed_forward.d_ff=[60, 20]"),
    *((f"model.feed_forward.activation={name}",) for name in NEW_ACTIVATIONS),
    *((f"model.feed_forward.activation={name}", "model.dropout=0") for name in NEW_ACTIVATIONS),
    ("model.norm.placement=sandwich",),
    ("model.norm={kind: rms_norm, placement: sandwich}", "model.dropout=0"),
    ("model.norm.placement=deepnorm",),
    ("model.embeddings.norm=true", "model.embeddings.output.bias=true"),
    ("model.share_layers=true",),
    ("model.positions=alibi",),
    ("model.positions=alibi", "model.dropout=0"),
    ("model.positions=relative_bias",),
    ("model.positions=relative_bias", "model.dropout=0"),
    ("model.positions=relative_keys",),
    ("model.positions=relative_keys", "model.dropout=0"),
    ("model.attention.kv_heads=1", "model.decoder.cross_attention.kv_heads=1"),
    ("model.attention.kv_heads=1", "model.dropout=0", "model.decoder.cross_attention.kv_heads=2"),
    ("model.attention.qk_norm=true",),
    ("model.attention.qk_norm=true", "model.dropout=0"),
    ("model.attention.softcap=20",),
    ("model.attention.softcap=20", "model.dropout=0"),
    ("model.encoder.mask=[{kind: block, size: 4}, full]", "model.dropout=0"),
    ("model.positions={kind: rotary, fraction: 0.5}", "model.dropout=0"),
    ("model.positions={kind: learned, max_length: 60}", "model.norm.final=true"),
    ("model.norm={kind: rms_norm, placement: pre, final: false}", "model.embeddings.norm=true"),
    ("model.decoder.cross_attention={heads: 4, kv_heads: 2, d_k: 6, d_v: 6}", "model.dropout=0"),
    ("model.decoder.cross_attention={heads: 4, qk_norm: true, softcap: 9}", "model.dropout=0"),
    ("model.positions=rotary", "model.attention.qk_norm=true", "model.attention.kv_heads=1"),
    ("model.positions=rotary", "model.attention={heads: [4, 1], d_k: 6}", "model.dropout=0"),
    ("model.positions=[rotary, none]", "model.attention.kv_heads=1", "model.dropout=0"),
    ("model.positions=alibi", "model.attention={heads: [4, 2], d_k: 6}", "model.dropout=0"),
    ("model.positions=alibi", "model.attention.softcap=9", "model.attention.kv_heads=1"),
    ("model.positions=relative_bias", "model.attention.softcap=9", "model.dropout=0"),
    ("model.positions=relative_bias", "model.encoder.mask=[{kind: block, size: 4}, full]"),
    ("model.positions=relative_keys", "model.attention.softcap=9", "model.attention.qk_norm=true"),
    ("model.positions={kind: relative_keys, max_distance: 3}", "model.share_layers=true"),
    ("model.positions=[relative_keys, alibi]", "model.attention.kv_heads=1"),
]
SHAPES = [
    ("model.d_model=64", "data.max_length={source: 6, target: 5}", "training.batch_tokens=12"),
    ("model.d_model=8", "data.max_length={source: 64, target: 60}", "training.batch_tokens=64"),
]
"""Wide networks that see little, and narrow ones that see one long pair."""
CHANGES_OF_SHAPES = [
    (),
    ("model.dropout=0",),
    ("model.positions=alibi", "model.dropout=0"),
    (
        "model.positions=alibi",
        "model.dropout=0",
        "model.decoder.mask=[{kind: window, before: 3}, full]",
    ),
    ("model.positions=relative_bias", "model.dropout=0"),
    ("model.positions=relative_keys", "model.dropout=0"),
    ("model.positions=rotary", "model.attention.qk_norm=true", "model.dropout=0"),
    ("model.attention.kv_heads=1", "model.attention.softcap=9"),
    ("model.attention.kv_heads=1", "model.norm={kind: rms_norm, placement: sandwich}"),
]


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_activations_are_what_autograd_keeps(parse: Parse, changes: tuple[str, ...]) -> None:
    blueprint = parse(TEXT, *changes)
    network, plan = compile_model(blueprint.model).train(), make_plan(blueprint)

    assert plan.batch == memory.Batch(PAIRS, SOURCE, TARGET)
    assert plan.memory.activations.fixed == pytest.approx(
        kept_by_autograd(network, *ids()), rel=0.001
    )


@pytest.mark.parametrize("shape", SHAPES, ids=["wide", "long"])
@pytest.mark.parametrize("changes", CHANGES_OF_SHAPES, ids=str)
def test_activations_are_what_autograd_keeps_at_all_proportions(
    parse: Parse, shape: tuple[str, ...], changes: tuple[str, ...]
) -> None:
    blueprint = parse(TEXT, *shape, *changes)
    network, plan = compile_model(blueprint.model).train(), make_plan(blueprint)
    batch = plan.batch

    kept = kept_by_autograd(network, *ids(batch.pairs, batch.source, batch.target))
    assert plan.memory.activations.fixed == pytest.approx(kept, rel=0.001)


def test_the_loss_works_on_as_many_rows_as_the_plan_says() -> None:
    assert memory.ROWS_AT_ONCE == loss.ROWS_AT_ONCE
    assert memory.LOGITS_AT_ONCE == loss.LOGITS_AT_ONCE


@pytest.mark.parametrize(
    "change",
    [
        "training.batch_tokens=260",
        "model.layers=3",
        "model.feed_forward.d_ff=61",
        "data.max_length.source=51",
        "model.vocab_size=31",
        "model.feed_forward.activation=swiglu",
    ],
)
def test_more_of_anything_takes_more(parse: Parse, change: str) -> None:
    less, more = make_plan(parse(TEXT)).memory, make_plan(parse(TEXT, change)).memory

    assert less.total.fixed < more.total.fixed
    for name, part in less.parts().items():
        assert part.fixed <= more.parts()[name].fixed


def test_microbatches_bound_what_is_held_at_once(parse: Parse) -> None:
    whole = make_plan(parse(TEXT, "training.batch_tokens=4000"))
    parts = make_plan(parse(TEXT, "training={batch_tokens: 4000, microbatch_tokens: 130}"))

    assert (whole.batch.pairs, parts.batch.pairs) == (100, 2)  # both sides stay below 130
    assert parts.memory.activations * 50 == whole.memory.activations
    assert parts.memory.moments == whole.memory.moments


@pytest.fixture
def network_and_plan(parse: Parse) -> tuple[Transformer, Plan]:
    blueprint = parse(TEXT)
    return compile_model(blueprint.model).eval(), make_plan(blueprint)


@torch.no_grad()
def test_caches_are_as_large_as_the_network_makes_them(
    network_and_plan: tuple[Transformer, Plan],
) -> None:
    network, plan = network_and_plan
    source_ids, target_ids = ids()
    remembered = network.remember(source_ids)
    caches = network.empty_caches(source_ids)
    for position in range(7):
        _, caches = network.step(
            target_ids[:, position], torch.tensor(position), memory=remembered, caches=caches
        )

    written = size(part for cache in caches for part in cache)
    assert plan.cache.per_target_token * PAIRS * 7 == written
    read = size(part for layer in remembered.keys_values for part in layer)
    assert plan.cache.per_source_token * PAIRS * SOURCE == read
