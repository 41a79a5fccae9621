"""The printed plan holds every figure and fits on a narrow page."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.bundled import bundled_blueprints
from builder.blueprint.load import load_blueprint
from builder.blueprint.plan import make_plan
from builder.blueprint.plan.duration import Pace
from builder.blueprint.plan.text import WIDTH, describe

Parse = Callable[..., Blueprint]

HUGE = (
    "model.d_model=16384",
    "model.layers=20",
    "model.norm.placement=pre",
    "model.embeddings.tie=target_output",
    "model.attention={heads: 64, bias: true}",
    "model.encoder.mask={kind: window, before: 2147483647, after: 2147483647}",
    "model.decoder.mask={kind: window, before: 2147483647}",
    f"description={'a very long description ' * 20}",
)


def lines_of(blueprint: Blueprint) -> list[str]:
    pace = Pace(
        blueprint=blueprint,
        tokens_per_second=0.001,
        source_length=200,
        target_length=200,
        target_rows=9,
    )
    return list(describe(blueprint, make_plan(blueprint, pace=pace)))


@pytest.mark.parametrize("name", bundled_blueprints())
def test_bundled_plans_are_narrow(name: str) -> None:
    assert max(map(len, lines_of(load_blueprint(name)))) <= WIDTH


def test_pictures_of_many_masks_are_narrow_and_whole(parse: Parse) -> None:
    masks = [f"{{kind: window, before: {before}}}" for before in range(1, 40, 7)]
    blueprint = parse("", f"model.encoder.mask=[{', '.join(masks)}]")
    lines = lines_of(blueprint)

    assert max(map(len, lines)) <= WIDTH
    start = next(i for i, line in enumerate(lines) if line.startswith("masks"))
    cells = sum(line.count("■") for line in lines[start + 1 :])
    assert cells == sum("".join(each.rows).count("■") for each in make_plan(blueprint).masks)


def test_huge_plans_with_unknown_vocabularies_are_narrow(parse: Parse) -> None:
    lines = lines_of(parse("", *HUGE))
    assert max(map(len, lines)) <= WIDTH
    assert all(line == line.rstrip() and line.isprintable() for line in lines)


def test_every_block_and_figure_is_there(parse: Parse) -> None:
    blueprint = parse("", "model.vocab_size=37000", "description=Words of mine.")
    plan = make_plan(blueprint)
    text = "\n".join(describe(blueprint, plan))

    assert all(block.name in text for block in plan.blocks)
    assert all(str(block.parameters) in text for block in plan.blocks if not block.tied_to)
    figures = [
        "Words of mine.",
        "63,045,632",
        "47.2 M for each source token",
        "88.2 M for each target",
        "24,576 bytes for each target token",
        "252 MB",
        "■ ■ ■ · ·",
        "in_proj 512×2048",
    ]
    assert [figure for figure in figures if figure not in text] == []
    assert "training time" not in text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ["greedy, at most 1 × source + 50 tokens", "MB + 2.05 kB·V, as `export.precision`"]),
        (
            "generation: {kind: beam, suppress_tokens: [a, b], max_length: {ratio: 0, plus: 9}}",
            ["beam, beams 4, length_penalty 0.6, suppress_tokens (2), at most 9 tokens"],
        ),
        ("generation: {kind: beam, beams: 9}", ["24,576 bytes for each target token of each of 9"]),
        (
            "generation: {kind: sampling, top_p: 0.9, suppress_unknown: true}",
            ["sampling, temperature 1, seed 1, suppress_unknown, top_p 0.9, at"],
        ),
        ("export: {precision: int8}", ["B·V, as `export.precision` says"]),
    ],
)
def test_how_the_model_writes_is_told(parse: Parse, text: str, told: list[str]) -> None:
    shown = " ".join(" ".join(lines_of(parse(text))).split())
    assert [words for words in told if words not in shown] == []
    assert shown.count("as `export.precision` says") == 1


def test_an_unknown_vocabulary_stays_a_symbol(parse: Parse) -> None:
    text = "\n".join(describe(parse(""), make_plan(parse(""))))
    assert "44,101,632 + 512·V\n" in text
    assert "50.3 M + 1.02 k·V for each target" in text
    assert "176 MB + 2.05 kB·V" in text
