"""Pictures of masks show what the network's own masks allow."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.plan.drawing import SIZE, Drawing, draw_masks
from builder.compile import compile_model

Parse = Callable[..., Blueprint]

MASKS = [
    "full",
    "causal",
    "{kind: window, before: 0}",
    "{kind: window, before: 2, after: 1}",
    "{kind: window, before: 0, after: 3}",
    "{kind: window, before: 8, after: 8}",
    "{kind: window, before: 64, after: 9}",
    "{kind: window, before: 100, after: 2000}",
    "{kind: window, before: 1, after: 0, global_tokens: 2}",
    "{kind: block, size: 5}",
    "{kind: block, size: 70}",
    "{kind: prefix, length: 4}",
    "{kind: prefix, length: 100}",
]


def pictures(blueprint: Blueprint) -> dict[str, Drawing]:
    """The picture of each stack."""
    drawings = draw_masks(blueprint.model)
    return {stack: drawing for drawing in drawings for stack in drawing.stacks}


def seen(drawing: Drawing) -> torch.Tensor:
    return torch.tensor([[cell == "■" for cell in row] for row in drawing.rows])


@pytest.mark.parametrize("mask", MASKS)
def test_a_picture_is_the_table_of_the_network(parse: Parse, mask: str) -> None:
    encoder = parse("", f"model.encoder.mask={mask}", "model.d_model=8", "model.vocab_size=9")
    decoder_mask = "causal" if "prefix" in mask else re.sub(r"after: \d+", "after: 0", mask)
    blueprint = parse(
        "",
        f"model.encoder.mask={mask}",
        f"model.decoder.mask={decoder_mask}",
        "model={d_model: 8, vocab_size: 9, layers: 1, feed_forward: {d_ff: 4}}",
    )
    network = compile_model(blueprint.model)
    drawn = pictures(blueprint)

    masks = (("encoder", network.encoder.masks), ("decoder", network.decoder.masks))
    for stack, (pattern,) in masks:
        positions = torch.arange(SIZE) * drawn[stack].step
        torch.testing.assert_close(seen(drawn[stack]), pattern.allowed(positions, positions))
    assert pictures(encoder)["encoder"].rows == drawn["encoder"].rows


def test_equal_masks_are_drawn_once(parse: Parse) -> None:
    assert [mask.stacks for mask in draw_masks(parse("").model)] == [("encoder",), ("decoder",)]

    both = parse("", "model.encoder.mask=causal", "model.decoder.mask=full")
    assert [mask.stacks for mask in draw_masks(both.model)] == [("encoder", "decoder")]


@pytest.mark.parametrize("before", [1, 8, 9, 64, 1000])
def test_a_window_ends_inside_its_picture(parse: Parse, before: int) -> None:
    window = f"model.encoder.mask={{kind: window, before: {before}}}"
    drawing = pictures(parse("", window))["encoder"]

    assert drawing.rows[-1].startswith("·")
    assert (drawing.step > 1) == (before > 8) == ("a cell is" in drawing.caption[2])
