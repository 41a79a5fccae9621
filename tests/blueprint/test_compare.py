"""What differs between two blueprints, and what only seems to."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.compare import Comparison, compare
from builder.blueprint.plan import make_plan

Compare = Callable[..., Comparison]


@pytest.fixture
def between(parse: Callable[..., Blueprint]) -> Compare:
    """Compare the texts of two blueprints."""
    return lambda left, right: compare(parse(left), parse(right))


SPLITS = [f"{split}: {{builtin: dates}}" for split in ("train", "valid", "test")]


def choices(found: Comparison) -> dict[str, tuple[object, object]]:
    return {choice.key: (choice.left, choice.right) for choice in found.choices}


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("model: {}", "model: {d_model: 512, positions: sinusoidal, dropout: 0.1}"),
        ("model: {layers: 2}", "model: {encoder: {layers: 2}, decoder: {layers: 2.0}}"),
        ("model: {}", "model: {attention: {d_k: 64}}"),
        ("name: a\ndescription: one", "name: b\ndescription: two"),
        ("data: {builtin: dates}", f"data: {{{', '.join(SPLITS)}}}"),
    ],
)  # fmt: skip
def test_another_way_to_write_it_is_no_difference(between: Compare, left: str, right: str) -> None:
    found = between(left, right)

    assert (found.choices, found.sizes, found.masks, found.more) == ((), (), (), 0)


def test_choices_are_told_in_the_order_of_the_sections(between: Compare) -> None:
    found = between(
        "model: {encoder: {positions: {kind: learned, max_length: 9}}}",
        "model: {encoder: {norm: rms_norm}}\ntraining: {steps: 5}",
    )

    told = choices(found)
    assert told["model.encoder.positions.kind"] == ("learned", "sinusoidal")
    assert told["model.encoder.positions.max_length"] == (9, None)
    assert told["model.encoder.positions.base"] == (None, 10_000.0)
    assert told["model.encoder.norm.kind"] == ("layer_norm", "rms_norm")
    assert told["training.steps"] == (None, 5)
    assert "training.minutes" not in told  # not chosen on either side
    sections = [key.split(".")[0] for key in told]
    assert sections == sorted(sections, key=["model", "training"].index)


def test_sizes_are_those_of_the_plans(between: Compare, parse: Callable[..., Blueprint]) -> None:
    small, large = "model: {vocab_size: 10}", "model: {vocab_size: 10, decoder: {layers: 7}}"
    found = between(small, large)

    totals = [make_plan(parse(text)).parameters for text in (small, large)]
    assert list(found.parameters) == totals
    assert found.more == totals[1].fixed - totals[0].fixed > 0
    assert [size.block for size in found.sizes] == [
        "decoder attention", "decoder cross-attention", "decoder feed-forward", "decoder norms",
    ]  # fmt: skip


def test_a_tie_is_a_difference_of_blocks(between: Compare) -> None:
    found = between("model: {}", "model: {embeddings: {tie: none}, norm: {placement: pre}}")

    sizes = {size.block: size for size in found.sizes}
    assert sizes["encoder final norm"].left is None
    tied, free = sizes["output projection"].left, sizes["output projection"].right
    assert tied is not None
    assert free is not None
    assert (tied.tied_to, free.tied_to) == ("source embedding", "")
    assert found.more is None  # one vocabulary became two, of sizes that are not known yet


def test_only_what_tokens_see_counts_as_a_mask(between: Compare) -> None:
    alike = between("model: {}", "model: {decoder: {mask: full}}")
    assert choices(alike) == {"model.decoder.mask.kind": ("causal", "full")}
    assert alike.masks == ()

    found = between("model: {}", "model: {encoder: {mask: {kind: window, before: 2}}}")
    (sight,) = found.masks
    assert (sight.stack, [each.mask for each in sight.right]) == (
        "encoder",
        ["window 2 before, 0 after"],
    )

    mixed = between("model: {}", "model: {encoder: {layers: 3, mask: [causal, full]}}")
    assert [each.stacks for each in mixed.masks[0].right] == [
        ("encoder layers 1, 3",),
        ("encoder layer 2",),
    ]


def test_plain_values_for_json(between: Compare) -> None:
    found = between("model: {vocab_size: 10}", "model: {vocab_size: 10, encoder: {mask: causal}}")

    plain = json.loads(json.dumps(found.as_dict()))
    assert plain["choices"] == [
        {"key": "model.encoder.mask.kind", "left": "full", "right": "causal"}
    ]
    assert plain["parameters"]["more"] == 0
    assert plain["parameters"]["left"]["total"] == plain["parameters"]["right"]["total"]
    assert [mask["stack"] for mask in plain["masks"]] == ["encoder"]
