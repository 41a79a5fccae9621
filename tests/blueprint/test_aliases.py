"""Aliases and merge keys work, and can neither explode nor go round in circles."""

from __future__ import annotations

import time

import pytest

from builder.blueprint.nodes import Mapping, Source, raw, walk
from builder.blueprint.read import COPY_LIMIT, read, split_lines
from builder.errors import BlueprintError, Problem


def read_text(text: str) -> tuple[object, list[Problem]]:
    node, problems = read(text, Source("bp.yaml", split_lines(text)))
    return (raw(node) if node else None), problems


def refused(text: str) -> Problem:
    with pytest.raises(BlueprintError) as raised:
        read_text(text)
    return raised.value.problems[-1]


def test_an_alias_stands_for_its_anchor() -> None:
    value, problems = read_text("a: &x {k: [1, 2]}\nb: *x\n")

    assert problems == []
    assert value == {"a": {"k": [1, 2]}, "b": {"k": [1, 2]}}


def test_an_aliased_value_keeps_the_path_of_its_use_and_the_place_of_its_text() -> None:
    text = "a: &x\n  k: 1\nb: *x\n"
    node, _ = read(text, Source("bp.yaml", split_lines(text)))

    assert isinstance(node, Mapping)
    used = dict(walk(node))[("b", "k")]
    assert used.place.path == ("b", "k")
    assert used.place.line == 2


@pytest.mark.parametrize("order", ["<<: *base, heads: 4", "heads: 4, <<: *base"])
def test_an_explicit_key_wins_over_a_merged_one_in_either_order(order: str) -> None:
    value, problems = read_text(f"base: &base {{heads: 8, d_k: 16}}\nderived: {{{order}}}\n")

    assert problems == []
    assert isinstance(value, dict)
    assert value["derived"] == {"heads": 4, "d_k": 16}


def test_a_merge_is_shallow() -> None:
    text = (
        "a: &a {dropout: 0.1, attention: {heads: 8, d_k: 4}}\nnew: {<<: *a, attention: {heads: 4}}"
    )
    value, _ = read_text(text)
    assert isinstance(value, dict)
    assert value["new"] == {"dropout": 0.1, "attention": {"heads": 4}}


def test_the_first_of_several_merged_sections_wins() -> None:
    value, _ = read_text("a: &a {x: 1}\nb: &b {x: 2, y: 3}\nc: {<<: [*a, *b]}\n")
    assert isinstance(value, dict)
    assert value["c"] == {"x": 1, "y": 3}


def test_a_second_merge_key_is_told_and_read() -> None:
    value, problems = read_text("a: &a {x: 1}\nb: &b {y: 2}\nc:\n  <<: *a\n  <<: *b\n")
    assert [(problem.line, problem.path) for problem in problems] == [(5, "c.<<")]
    assert isinstance(value, dict)
    assert value["c"] == {"x": 1, "y": 2}


def test_a_quoted_merge_key_is_a_key() -> None:
    value, _ = read_text("a: &a {x: 1}\nb: {'<<': *a}\n")
    assert isinstance(value, dict)
    assert value["b"] == {"<<": {"x": 1}}


@pytest.mark.parametrize("merged", ["5", "[5]", "text"])
def test_only_sections_merge(merged: str) -> None:
    value, [problem] = read_text(f"a: 1\nb:\n  <<: {merged}\n  c: 2\n")

    assert value == {"a": 1, "b": {"c": 2}}
    assert (problem.line, problem.column) == (3, 3)


def bomb(levels: int, references: int) -> str:
    lines = [f"a0: &a0 [{', '.join(['x'] * references)}]"]
    for level in range(1, levels):
        aliases = ", ".join([f"*a{level - 1}"] * references)
        lines.append(f"a{level}: &a{level} [{aliases}]")
    return "\n".join(lines)


@pytest.mark.parametrize("levels", [8, 100])
def test_aliases_cannot_explode(levels: int) -> None:
    begun = time.perf_counter()
    problem = refused(bomb(levels, 9))

    assert len(str(problem)) < 500
    assert time.perf_counter() - begun < 1


def test_merged_sections_cannot_explode() -> None:
    lines = [f"a0: &a0 {{{', '.join(f'k{i}: 1' for i in range(100))}}}"]
    for level in range(1, 40):
        aliases = ", ".join([f"*a{level - 1}"] * 9)
        lines += [f"a{level}: &a{level} {{<<: [{aliases}]}}"]
    assert len(str(refused("\n".join(lines)))) < 500


def test_many_honest_aliases_are_fine() -> None:
    uses = "\n".join(f"k{i}: *x" for i in range(1000))
    value, problems = read_text(f"a: &x {{m: 1, n: 2}}\n{uses}\n")

    assert problems == []
    assert isinstance(value, dict)
    assert len(value) == 1001 < COPY_LIMIT


@pytest.mark.parametrize(
    "text", ["a: &a [*a]", "a: &a {b: *a}", "&a {b: [*a]}", "a: &a {<<: *a}", "a: &a {b: {<<: *a}}"]
)
def test_an_alias_inside_its_own_anchor_is_refused(text: str) -> None:
    assert refused(text).line == 1
