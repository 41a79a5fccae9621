"""A misspelt key is one problem: whatever it stands for is neither missing nor in conflict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from builder.blueprint.load import load_blueprint
from builder.errors import BlueprintError, Problem

Refuse = Callable[..., list[Problem]]


@pytest.mark.parametrize(
    ("text", "line", "right"),
    [
        ("data:\n  bultin: dates\n", 2, "builtin"),
        ("data:\n  valid: {builtin: dates}\n  train:\n    bultin: dates\n", 4, "builtin"),
        (
            (
                "data:\n  valid: {builtin: dates}\n"
                "  train:\n    paht: a\n    columns: {source: 1, target: 2}\n"
            ),
            4,
            "path",
        ),
        ("data:\n  valid: {builtin: dates}\n  train:\n    target: a\n    sorce: b\n", 5, "source"),
        ("tokenizer:\n  source:\n    nkind: char\n  target: char\n  shared: true\n", 3, "kind"),
        ("tokenizer:\n  knid: bpe\n  vocab_size: 80\n", 2, "kind"),
        ("tokenizer:\n  sahred: true\n  source: char\n  target: char\n", 2, "shared"),
        ("training:\n  mitnes: 18\n", 2, "minutes"),
        ("model:\n  positions:\n    knid: learned\n    max_length: 512\n", 3, "kind"),
        ("model:\n  atention: {heads: 4, bis: true}\n  d_model: 100\n", 2, "attention"),
        ("model:\n  droput: 1\n", 2, "dropout"),
        ("model:\n  d_model: 100\n  attention:\n    headss: 10\n", 4, "heads"),
        ("name: x\ntranom: 1\nmodel: {}\n#transom:\n", 2, "transom"),
        ("name: x\nextnds: dates\ntraining: {seed: 3}\ndata: {test: {path: a}}\n", 2, "extends"),
    ],
)
def test_a_misspelt_key_is_one_problem(refuse: Refuse, text: str, line: int, right: str) -> None:
    [problem] = refuse(text)
    assert problem.line == line
    assert f"did you mean `{right}`?" in problem.message


def test_other_mistakes_are_told_beside_it(refuse: Refuse) -> None:
    text = "data:\n  bultin: dates\n  train: {source: a}\n  max_length: 1\n"
    paths = [problem.path for problem in refuse(text)]
    assert paths == ["data.bultin", "data.train.target", "data.max_length"]


def test_a_key_that_is_written_right_too_is_still_judged(refuse: Refuse) -> None:
    problems = refuse("model:\n  attention: {heads: 7, haeds: 8}\n")
    assert sorted(problem.path for problem in problems) == [
        "model.attention.haeds",
        "model.attention.heads",
    ]


def test_a_misspelt_key_takes_the_place_of_what_the_base_says(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("transom: 1\nmodel: {attention: {heads: 8}}\n")
    file = tmp_path / "a.yaml"
    text = "transom: 1\nextends: base.yaml\nmodel: {attention: {haeds: 10}, d_model: 100}\n"
    file.write_text(text)
    with pytest.raises(BlueprintError) as raised:
        load_blueprint(file)
    [problem] = raised.value.problems
    assert problem.path == "model.attention.haeds"


def test_a_form_that_shows_is_not_guessed_anew(refuse: Refuse) -> None:
    text = "data: {train: {source: a, target: b, paths: c}, valid: {builtin: dates}}\n"
    [problem] = refuse(text)
    assert problem.path == "data.train.paths"
