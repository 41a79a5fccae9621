"""Lists that are cycled over the layers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.load import parse_blueprint
from builder.blueprint.model import Full, Rotary, Window, head_widths
from builder.blueprint.plan import make_plan
from builder.blueprint.plan.blocks import spoken
from builder.blueprint.section import at_layer
from builder.blueprint.write import dump_blueprint
from builder.errors import Problem

Parse = Callable[..., Blueprint]
Refuse = Callable[..., list[Problem]]

MIXED = """
model:
  d_model: 16
  layers: 5
  attention: {heads: [4, 2]}
  feed_forward: {d_ff: [8, 16, 24]}
  positions: [rotary, none, {kind: rotary, base: 500}]
  encoder: {mask: [{kind: window, before: 2, after: 2}, full]}
"""


def test_short_forms_defaults_and_the_cascade_work_in_lists(parse: Parse) -> None:
    model = parse(MIXED).model

    window = Window(kind="window", before=2, after=2)
    assert model.encoder.mask == (window, Full(kind="full"))
    assert model.encoder.positions == model.decoder.positions
    assert [each.kind for each in model.encoder.positions] == ["rotary", "none", "rotary"]
    assert model.encoder.positions[2] == Rotary(kind="rotary", base=500)
    assert model.decoder.cross_attention.heads == (4, 2)
    widths = [head_widths(model.encoder.attention, 16, layer)[0] for layer in range(5)]
    assert widths == [4, 8, 4, 8, 4]
    assert [at_layer(model.encoder.feed_forward.d_ff, layer) for layer in range(5)] == [
        8, 16, 24, 8, 16,
    ]  # fmt: skip


def test_the_resolved_form_keeps_lists(parse: Parse) -> None:
    blueprint = parse(MIXED)
    text = dump_blueprint(blueprint)

    assert parse_blueprint(text, "again.yaml") == blueprint
    assert "heads: [4, 2]" in text
    assert "mask: [{kind: window, before: 2, after: 2, global_tokens: 0}, {kind: full}]" in text
    assert "heads: 8\n" in dump_blueprint(parse("model: {attention: {heads: [8]}}"))


def test_a_list_replaces_and_is_replaced(parse: Parse) -> None:
    base = "model: {encoder: {mask: {kind: window, before: 2}}}"
    assert [
        m.kind for m in parse(base, "model.encoder.mask=[full, causal]").model.encoder.mask
    ] == [
        "full",
        "causal",
    ]
    one = parse(MIXED, "model.encoder.mask.kind=causal").model.encoder.mask
    assert [mask.kind for mask in one] == ["causal"]


def test_blocks_that_differ_are_counted_apart(parse: Parse) -> None:
    blocks = {block.name: block for block in make_plan(parse(MIXED)).blocks}

    assert blocks["encoder attention"].copies == 5  # the same shapes, whatever the heads
    assert blocks["encoder feed-forward, layers 1, 4"].copies == 2
    assert blocks["encoder feed-forward, layer 3"].shapes["in_proj"] == (16, 24)


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        ([1], "layer 2"),
        ([0, 2], "layers 1, 3"),
        ([0, 2, 3, 4], "layers 1, 3-5"),
        ([0, 1, 2, 3], "layers 1-4"),
        ([1, 4, 7, 10], "layers 2, 5 … 11"),
        ([1, 4, 7, 11], "layers 2, 5, 8, 12"),
    ],
)
def test_layers_in_words(layers: list[int], words: str) -> None:
    assert spoken(layers) == words


@pytest.mark.parametrize(
    ("text", "column", "path"),
    [
        ("model: {attention: {heads: [4, 7]}}", 32, "model.attention.heads[1]"),
        ("model: {attention: {heads: [4, x]}}", 32, "model.attention.heads[1]"),
        ("model: {attention: {heads: []}}", 21, "model.attention.heads"),
        ("model: {layers: [6, 6]}", 9, "model.layers"),
        ("model: {encoder: {mask: [full, cusal]}}", 32, "model.encoder.mask[1]"),
        (
            "model: {encoder: {mask: [full, {kind: window, befor: 3}]}}",
            47,
            "model.encoder.mask[1].befor",
        ),
        (
            "model: {encoder: {mask: [full, {kind: window}]}}",
            32,
            "model.encoder.mask[1].before",
        ),
        ("model: {encoder: {mask: [full, {before: 1}]}}", 33, "model.encoder.mask[1].before"),
        (
            "model: {decoder: {mask: [causal, {kind: window, before: 1, after: 2}]}}",
            60,
            "model.decoder.mask[1].after",
        ),
        (
            "model: {encoder: {positions: [rotary, learned]}}",
            39,
            "model.encoder.positions[1].max_length",
        ),
        (
            "model: {encoder: {positions: [sinusoidal, none]}}",
            31,
            "model.encoder.positions[0]",
        ),
        (
            "model: {encoder: {positions: [sinusoidal, sinusoidal]}}",
            31,
            "model.encoder.positions[0]",
        ),
        ("model: {decoder: {layers: 1, mask: [full, causal]}}", 30, "model.decoder.mask"),
        ("model: {norm: [layer_norm, rms_norm]}", 9, "model.norm"),
    ],
)
def test_a_mistake_in_a_list_is_told_where_it_stands(
    refuse: Refuse, text: str, column: int, path: str
) -> None:
    first = refuse(text)[0]

    assert (first.line, first.column, first.path) == (1, column, path)


def test_one_mistake_in_a_list_hides_no_other(refuse: Refuse) -> None:
    problems = refuse(
        "model:\n  d_model: -1\n  encoder: {mask: [full, {kind: window, before: -1}, {kind: x}]}\n"
        "  decoder: {layers: 0}"
    )

    assert [problem.path for problem in problems] == [
        "model.d_model",
        "model.encoder.mask[1].before",
        "model.encoder.mask[2].kind",
        "model.decoder.layers",
    ]
