"""Older files are lifted version by version, and keep the places of what they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from builder.blueprint import migrate
from builder.blueprint.blueprint import Blueprint
from builder.blueprint.nodes import Mapping, Scalar
from builder.errors import Problem

Parse = Callable[..., Blueprint]
Refuse = Callable[..., list[Problem]]


def sizes_into_sections(tree: Mapping) -> Mapping:
    """From an imagined version 0, which wrote `heads` and `d_ff` under `model` itself."""
    model = tree.entries.get("model")
    if not isinstance(model, Mapping):
        return tree
    entries = dict(model.entries)
    for key, section in (("heads", "attention"), ("d_ff", "feed_forward")):
        if key in entries:
            node = entries.pop(key)
            entries[section] = Mapping(node.place, {key: node})
    return replace(tree, entries={**tree.entries, "model": replace(model, entries=entries)})


def width_in_words(tree: Mapping) -> Mapping:
    """From an imagined version −1, which knew `size: small` only."""
    model = tree.entries.get("model")
    size = model.entries.get("size") if isinstance(model, Mapping) else None
    if not isinstance(model, Mapping) or not isinstance(size, Scalar):
        return tree
    entries = {k: v for k, v in model.entries.items() if k != "size"}
    entries["heads"] = replace(size, value=4 if size.value == "small" else size.value)
    return replace(tree, entries={**tree.entries, "model": replace(model, entries=entries)})


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "MIGRATIONS", {-1: width_in_words, 0: sizes_into_sections})


@pytest.mark.usefixtures("older")
def test_a_file_of_an_older_version_means_what_it_meant(parse: Parse) -> None:
    old = parse("transom: 0\nmodel: {d_model: 64, heads: 2, d_ff: 32}\n")
    new = parse(
        "transom: 1\nmodel: {d_model: 64, attention: {heads: 2}, feed_forward: {d_ff: 32}}\n"
    )
    assert old == new
    assert old.transom == 1


@pytest.mark.usefixtures("older")
def test_steps_follow_each_other(parse: Parse) -> None:
    model = parse("transom: -1\nmodel: {size: small}\n").model
    assert model.encoder.attention.heads == (4,)


@pytest.mark.usefixtures("older")
def test_problems_stand_where_the_older_file_wrote_them(refuse: Refuse) -> None:
    problems = refuse("transom: 0\nmodel:\n  d_model: 64\n  heads: 7\n  d_ff: x\n  droput: 1\n")
    assert [(problem.line, problem.column, problem.path) for problem in problems] == [
        (4, 3, "model.heads"),
        (5, 3, "model.d_ff"),
        (6, 3, "model.droput"),
    ]


@pytest.mark.usefixtures("older")
def test_overrides_speak_the_current_version(parse: Parse, refuse: Refuse) -> None:
    text = "transom: 0\nmodel: {heads: 2}\n"
    assert parse(text, "model.attention.heads=4").model.encoder.attention.heads == (4,)
    assert refuse(text, "model.heads=4")[0].file == "--set model.heads=4"


@pytest.mark.parametrize("version", ["2", "3.0", "1e9"])
def test_a_later_version_is_refused_and_nothing_else_is_judged(
    refuse: Refuse, version: str
) -> None:
    [problem] = refuse(f"model: {{new_key: 1}}\ntransom: {version}\n")
    assert (problem.line, problem.path) == (2, "transom")
    assert "written for a later Transom" in problem.message


def test_a_version_that_never_was_is_refused(refuse: Refuse) -> None:
    [problem] = refuse("transom: 0\n")
    assert "0" in problem.message
    assert "1" in problem.message
    assert "later" not in problem.message


def test_every_older_version_has_a_step() -> None:
    assert sorted(migrate.MIGRATIONS) == list(range(1, migrate.VERSION))


def test_a_version_in_quotes_is_told_to_drop_them(refuse: Callable[..., list[Problem]]) -> None:
    [problem] = refuse('transom: "1"')
    assert (problem.path, problem.line) == ("transom", 1)
    assert "drop the quotes" in problem.message
