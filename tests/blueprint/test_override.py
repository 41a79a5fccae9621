"""Overrides are typed, merged and checked as in the file, and their problems name the flag."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.bundled import bundled_blueprints
from builder.blueprint.data import BuiltIn, Table
from builder.blueprint.load import load_blueprint
from builder.blueprint.model import Rotary, Sinusoidal
from builder.blueprint.tokenizer import BPE
from builder.blueprint.training import Constant
from builder.blueprint.write import dump_blueprint
from builder.errors import Problem

Parse = Callable[..., Blueprint]
Refuse = Callable[..., list[Problem]]

TRAINED = "training: {steps: 10, schedule: {kind: noam, warmup: 7}}\n"


def test_a_value_is_typed_as_in_the_file(parse: Parse) -> None:
    blueprint = parse(
        TRAINED,
        "training.optimizer.eps=3e-4",
        "name=no",
        "training.optimizer.betas=[0.5,0.6]",
        "model.d_model=2.56e2",
        "model.attention={heads: 4, bias: true}",
        "description=a=b",
    )
    assert blueprint.training is not None
    assert blueprint.training.optimizer.eps == 0.0003
    assert blueprint.training.optimizer.betas == (0.5, 0.6)
    assert blueprint.name == "no"
    assert blueprint.model.d_model == 256
    assert blueprint.model.encoder.attention.heads == (4,)
    assert blueprint.model.encoder.attention.bias
    assert blueprint.description == "a=b"
    assert "eps: 0.0003" in dump_blueprint(blueprint)


@pytest.mark.parametrize("blank", ["", "~", "null", " "])
def test_a_blank_value_restores_the_default(parse: Parse, blank: str) -> None:
    blueprint = parse(
        "model: {layers: 2}\n" + TRAINED, f"model.layers={blank}", f"training={blank}"
    )
    assert blueprint.model.encoder.layers == 6
    assert blueprint.training is None


def test_a_whole_section_can_be_added(parse: Parse) -> None:
    training = parse("", "training.steps=5").training
    assert training is not None
    assert training.steps == 5


def test_the_last_of_two_overrides_wins(parse: Parse) -> None:
    assert parse("", "model.layers=2", "model.layers=3").model.encoder.layers == 3


def test_another_kind_replaces_the_section_of_the_file(parse: Parse) -> None:
    rate = "training.schedule.learning_rate=1e-3"
    for overrides in (
        ("training.schedule.kind=constant", rate),
        ("training.schedule={kind: constant, learning_rate: 1e-3}",),
        ("training.schedule=constant", rate),
        (rate, "training.schedule.kind=constant"),
    ):
        training = parse(TRAINED, *overrides).training
        assert training is not None
        assert training.schedule == Constant(kind="constant", learning_rate=0.001)


def test_a_key_can_be_set_inside_a_short_form(parse: Parse) -> None:
    model = parse(
        "model: {positions: rotary, dropout: 0.2}",
        "model.positions.base=50",
        "model.dropout.attention=0",
    ).model
    assert model.encoder.positions == (Rotary(kind="rotary", base=50),)
    assert (model.encoder.dropout.attention, model.encoder.dropout.residual) == (0.0, 0.2)


def test_a_data_source_can_change_its_form(parse: Parse) -> None:
    text = (
        "data: {train: {source: a, target: b}, valid: {path: c, columns: {source: 1, target: 2}}}"
    )
    data = parse(text, "data.train.builtin=dates", "data.valid.columns.source=3").data
    assert data is not None
    assert data.train == BuiltIn(builtin="dates")
    assert isinstance(data.valid, Table)
    assert (data.valid.columns.source, data.valid.columns.target) == (3, 2)


def test_a_side_of_the_tokenizer_is_no_form_of_a_data_source(parse: Parse) -> None:
    for override in ("tokenizer.source.lowercase=true", "tokenizer={source: {lowercase: true}}"):
        tokenizer = parse(
            "tokenizer: {kind: bpe, vocab_size: 99, shared: false}\n"
            "model: {embeddings: {tie: none}}\n",
            override,
        ).tokenizer
        assert tokenizer is not None
        assert tokenizer.source == BPE(kind="bpe", vocab_size=99, lowercase=True)
        assert tokenizer.target == BPE(kind="bpe", vocab_size=99)


@pytest.mark.parametrize("name", bundled_blueprints())
@pytest.mark.parametrize("key", ["model.vocab_size", "tokenizer", "data.max_length"])
@pytest.mark.parametrize("side", ["source", "target"])
def test_setting_a_side_to_what_it_is_changes_nothing(name: str, key: str, side: str) -> None:
    """Every section with sides is merged key by key, however it was written."""
    blueprint = load_blueprint(name)
    section = blueprint
    for part in key.split("."):
        section = getattr(section, part, None)
    value = getattr(section, side, None)
    if value is not None:
        text = json.dumps(value if isinstance(value, int) else value.model_dump())
        is_shared = blueprint.tokenizer is not None and blueprint.tokenizer.shared
        shared = ["tokenizer.shared=true"] if is_shared else []
        assert load_blueprint(name, [f"{key}.{side}={text}", *shared]) == blueprint


SPLITS = "data: {train: {path: a}, valid: {path: b}, test: {path: c}, max_length: 40}\n"


def test_a_built_in_set_replaces_the_splits_below_it(parse: Parse) -> None:
    data = parse(SPLITS, "data.builtin=dates").data
    assert data is not None
    assert data.train == data.valid == data.test == BuiltIn(builtin="dates")
    assert data.max_length.source == 40


def test_splits_replace_the_built_in_set_below_them(parse: Parse) -> None:
    every = [f"data.{split}.path=/{split}" for split in ("train", "valid", "test")]
    data = parse("data: {builtin: dates}", *every).data
    assert data is not None
    assert isinstance(data.train, Table)
    assert isinstance(data.test, Table)
    some = parse("data: {builtin: dates}", *every[:2]).data
    assert some is not None
    assert isinstance(some.valid, Table)
    assert some.test == BuiltIn(builtin="dates")


def test_a_blank_kind_is_the_default_one(parse: Parse) -> None:
    model = parse("model: {positions: {kind: rotary, base: 50}}", "model.positions.kind=").model
    assert model.encoder.positions == (Sinusoidal(kind="sinusoidal"),)
    model = parse("model: {positions: {kind: , base: 5}}", "model.positions.kind=sinusoidal").model
    assert model.encoder.positions == (Sinusoidal(kind="sinusoidal", base=5),)


@pytest.mark.parametrize(
    ("override", "path"),
    [
        ("extends=dates", "extends"),
        ("extends=", "extends"),
        ("trainin.steps=5", "trainin"),
        ("model.d_modl=5", "model.d_modl"),
        ("training.steps=[1,2]", "training.steps"),
        ('training.steps="5"', "training.steps"),
        ("model.layers=6.5", "model.layers"),
        ("model.dropout=.nan", "model.dropout"),
        ("model.layers.x=5", "model.layers"),
        ("model.d_model=!!int 5", "model.d_model"),
        ("model.attention={heads: 8, heads: 4}", "model.attention.heads"),
        ("model.d_model=[1", ""),
        ("model.d_model=a: b: c", ""),
        ("model.d_model", ""),
        ("=5", ""),
        ("model..d_model=5", ""),
        ("model=", "model"),
        ("model.\x1b[31m=5", "model.\x1b[31m"),
    ],
)
def test_a_problem_names_the_flag(refuse: Refuse, override: str, path: str) -> None:
    [problem] = refuse(TRAINED, override)

    assert problem.file == f"--set {override}"
    assert (problem.line, problem.source_line) == (0, "")
    assert problem.path == path
    assert "\x1b" not in str(problem)


def test_a_conflict_with_the_file_is_told_at_the_flag(refuse: Refuse) -> None:
    [problem] = refuse("model:\n  attention: {heads: 8}\n", "model.d_model=100")
    assert problem.file == "--set model.d_model=100"


def test_a_side_that_only_a_flag_writes_stands_at_the_flag(refuse: Refuse) -> None:
    [problem] = refuse("tokenizer: char\n", "tokenizer.source.lowercase=true")
    assert problem.file == "--set tokenizer.source.lowercase=true"
    assert problem.path == "tokenizer.source"


def test_what_the_file_lacks_is_still_told_in_the_file(refuse: Refuse) -> None:
    [problem] = refuse("data:\n  train: {builtin: dates}\n", "data.max_length=8")
    assert (problem.file, problem.line, problem.path) == ("bp.yaml", 1, "data.valid")


def test_problems_come_in_the_order_of_file_and_flags(refuse: Refuse) -> None:
    flags = ["trainin.steps=5", "model.layers=0", "x"]
    problems = refuse("model:\n  droput: 1\n", *flags)
    assert [p.file for p in problems] == ["bp.yaml", *(f"--set {flag}" for flag in flags)]
