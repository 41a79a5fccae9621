"""A shared key that a lower file keeps from both sides is refused, never ignored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.load import load_blueprint
from builder.blueprint.write import dump_blueprint
from builder.errors import BlueprintError, Problem

Parse = Callable[..., Blueprint]
Refuse = Callable[..., list[Problem]]

BOTH = "model: {layers: 9, encoder: {layers: 2}, decoder: {layers: 3}}\n"


@pytest.mark.parametrize(
    ("override", "path", "first"),
    [
        ("model.layers=1", "model.layers", "model.encoder.layers"),
        ("model={layers: 1}", "model.layers", "model.encoder.layers"),
        ("model.dropout=0.3", "model.dropout", "model.encoder.dropout.residual"),
        ("model.positions=rotary", "model.positions", "model.encoder.positions.kind"),
        ("model.attention={heads: 2}", "model.attention.heads", "model.encoder.attention.heads"),
        ("tokenizer=word", "tokenizer", "tokenizer.source.kind"),
    ],
)
def test_a_flag_over_a_resolved_file_is_told(
    refuse: Refuse, override: str, path: str, first: str
) -> None:
    [problem] = refuse(dump_blueprint(load_blueprint("dates")), override)
    assert (problem.file, problem.path) == (f"--set {override}", path)
    assert f"no effect: `{first}` and" in problem.message


def test_a_file_over_its_base_is_told(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(f"transom: 1\n{BOTH}")
    file = tmp_path / "a.yaml"
    file.write_text("transom: 1\nextends: base.yaml\nmodel:\n  layers: 1\n")
    with pytest.raises(BlueprintError) as raised:
        load_blueprint(file)
    [problem] = raised.value.problems
    assert (problem.file, problem.line, problem.path) == (str(file), 4, "model.layers")


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["model.encoder.layers=4"],
        ["model.layers=1", "model.encoder.layers="],
        ["model.layers=1", "model.encoder.layers=4", "model.decoder.layers=4"],
        ["model.attention.heads=4"],
    ],
)
def test_what_reaches_a_side_or_is_meant_is_taken(parse: Parse, overrides: list[str]) -> None:
    assert parse(BOTH, *overrides)


def test_a_value_that_is_wrong_is_told_once(refuse: Refuse) -> None:
    for override in ("model.layers=x", "model.lyers=1"):
        [problem] = refuse(BOTH, override)
        assert "no effect" not in problem.message
