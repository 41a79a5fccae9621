"""A blueprint changes another: merged deeply, told apart by file, and never in a circle."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.data import BuiltIn, ParallelFiles, Table
from builder.blueprint.load import load_blueprint
from builder.blueprint.model import Rotary, Sinusoidal, Window
from builder.blueprint.training import Constant
from builder.blueprint.write import dump_blueprint
from builder.errors import BlueprintError, Problem

Write = Callable[..., Path]

HEAD = "transom: 1\n"
BASE = (
    HEAD
    + """\
name: base
description: The base.
model:
  d_model: 64
  dropout: 0.3
  attention: {heads: 4, bias: true}
  positions: {kind: sinusoidal, base: 500}
  decoder: {layers: 2, mask: {kind: window, before: 3}}
training: {steps: 10, optimizer: {betas: [0.5, 0.6]}, schedule: {kind: noam, warmup: 7}}
"""
)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write texts to files in a folder, and give the path of the first one."""

    def put(**texts: str) -> Path:
        for name, text in texts.items():
            file = tmp_path / f"{name}.yaml"
            file.write_text(text, encoding="utf-8")
        return tmp_path / f"{next(iter(texts))}.yaml"

    return put


def extend(base: str, rest: str = "") -> str:
    return f"{HEAD}extends: {base}\n{rest}"


def load(path: Path, *overrides: str) -> Blueprint:
    return load_blueprint(path, overrides)


def refused(path: str | Path, *overrides: str) -> list[Problem]:
    with pytest.raises(BlueprintError) as raised:
        load_blueprint(path, overrides)
    return raised.value.problems


def test_what_is_not_written_comes_from_the_base(write: Write) -> None:
    blueprint = load(write(a=extend("./base.yaml", "model: {layers: 3}\n"), base=BASE))
    model = blueprint.model
    assert (model.d_model, model.encoder.layers, model.decoder.layers) == (64, 3, 2)
    assert model.encoder.dropout.residual == 0.3
    assert blueprint.training is not None
    assert blueprint.training.steps == 10


def test_name_and_description_are_each_files_own(write: Write) -> None:
    blueprint = load(write(a=extend("base.yaml"), base=BASE))
    assert (blueprint.name, blueprint.description) == ("a", "")


def test_a_bundled_blueprint_can_be_extended(write: Write) -> None:
    blueprint = load(write(a=extend("dates", "model: {layers: 1}\n")))
    dates = load_blueprint("dates")
    assert blueprint.model.encoder.layers == 1
    assert blueprint.model.d_model == dates.model.d_model
    assert blueprint.training == dates.training


@pytest.mark.parametrize(
    ("rest", "found", "expected"),
    [
        ("attention: {heads: 2}", lambda m: (*m.encoder.attention.heads, m.encoder.attention.bias),
         (2, True)),
        ("dropout: {attention: 0}",
         lambda m: (m.encoder.dropout.attention, m.encoder.dropout.residual), (0.0, 0.3)),
        ("dropout: 0.2", lambda m: m.encoder.dropout.residual, 0.2),
        ("positions: sinusoidal", lambda m: m.encoder.positions[0],
         Sinusoidal(kind="sinusoidal", base=500)),
        ("positions: {base: 9}", lambda m: m.encoder.positions[0],
         Sinusoidal(kind="sinusoidal", base=9)),
        ("positions: rotary", lambda m: m.encoder.positions[0], Rotary(kind="rotary")),
        ("decoder: {mask: {before: 5}}", lambda m: m.decoder.mask[0],
         Window(kind="window", before=5)),
        ("decoder: {mask: causal}", lambda m: m.decoder.mask[0].kind, "causal"),
        ("dropout: ~", lambda m: m.encoder.dropout.residual, 0.1),
        ("attention: {bias: null}",
         lambda m: (*m.encoder.attention.heads, m.encoder.attention.bias), (4, False)),
        ("positions: null", lambda m: m.encoder.positions[0], Sinusoidal(kind="sinusoidal")),
        ("decoder: null", lambda m: (m.decoder.layers, m.decoder.mask[0].kind), (6, "causal")),
        ("{decoder: {layers: ~}, layers: 4}", lambda m: m.decoder.layers, 4),
    ],
)  # fmt: skip
def test_sections_merge_and_kinds_replace(
    write: Write, rest: str, found: Callable[[object], object], expected: object
) -> None:
    section = rest if rest.startswith("{") else f"{{{rest}}}"
    blueprint = load(write(a=extend("base.yaml", f"model: {section}\n"), base=BASE))
    assert found(blueprint.model) == expected


def test_lists_replace_and_null_takes_a_section_away(write: Write) -> None:
    rest = (
        "training: {optimizer: {betas: [0.1, 0.2]}, schedule: {kind: constant, learning_rate: 1}}\n"
    )
    training = load(write(a=extend("base.yaml", rest), base=BASE)).training
    assert training is not None
    assert training.optimizer.betas == (0.1, 0.2)
    assert training.schedule == Constant(kind="constant", learning_rate=1.0)
    assert load(write(a=extend("base.yaml", "training:\n"), base=BASE)).training is None


def test_the_nearest_of_several_levels_wins(write: Write) -> None:
    path = write(
        a=extend("b.yaml", "model: {d_model: 16}\n"),
        b=extend("c.yaml", "model: {d_model: 32, layers: 5, dropout: null}\n"),
        c=extend("base.yaml", "model: {layers: 4, dropout: 0.4, attention: {heads: 8}}\n"),
        base=BASE,
    )
    model = load(path).model
    assert (model.d_model, model.encoder.layers, model.encoder.attention.heads) == (16, 5, (8,))
    assert model.encoder.dropout.residual == 0.1
    assert model.encoder.attention.bias


def test_overrides_come_on_top(write: Write) -> None:
    path = write(a=extend("base.yaml", "model: {layers: 3}\n"), base=BASE)
    blueprint = load(
        path, "model.layers=1", "model.dropout=", "training.schedule.learning_rate=1",
        "training.schedule.kind=constant",
    )  # fmt: skip
    assert blueprint.model.encoder.layers == 1
    assert blueprint.model.encoder.dropout.residual == 0.1
    assert blueprint.training is not None
    assert blueprint.training.schedule.kind == "constant"


def test_the_resolved_form_extends_nothing(write: Write) -> None:
    blueprint = load(write(a=extend("base.yaml"), base=BASE))
    text = dump_blueprint(blueprint)
    assert "extends" not in text
    assert load(write(again=text)) == blueprint


def test_a_blank_extends_is_none(write: Write) -> None:
    assert load(write(a=f"{HEAD}model: {{}}\nextends:\n")).model.d_model == 512


def test_paths_start_from_the_file_that_wrote_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("deep/er", "bases"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "deep/er/a.yaml").write_text(
        extend("../../bases/b.yaml", "data: {train: {source: mine}, test: {path: t.tsv}}\n")
    )
    (tmp_path / "bases/b.yaml").write_text(
        extend("./c.yaml", "data: {train: {source: s, target: ../t}}\n")
    )
    (tmp_path / "bases/c.yaml").write_text(f"{HEAD}model: {{}}\ndata: {{valid: {{path: v.tsv}}}}\n")
    monkeypatch.chdir(tmp_path / "deep")
    data = load_blueprint("er/a.yaml").data
    assert data is not None
    assert isinstance(data.train, ParallelFiles)
    assert data.train.source == str(tmp_path / "deep/er/mine")
    assert data.train.target == str(tmp_path / "t")
    assert isinstance(data.valid, Table)
    assert data.valid.path == str(tmp_path / "bases/v.tsv")
    assert isinstance(data.test, Table)
    assert data.test.path == str(tmp_path / "deep/er/t.tsv")


def test_a_built_in_set_takes_the_place_of_the_bases_data(write: Write) -> None:
    data = load(write(a=extend("katakana", "data: {builtin: dates}\n"))).data
    assert data is not None
    assert data.train == data.valid == data.test == BuiltIn(builtin="dates")


def test_a_mistake_in_a_base_is_told_in_that_file(write: Write, tmp_path: Path) -> None:
    path = write(
        a=extend("base.yaml", "model: {droput: 1}\ntraining: {seed: x}\n"),
        base=f"{BASE}modle: 3\ntraining: {{sed: 1}}\n",
    )
    problems = refused(path)
    assert [(problem.file, problem.line, problem.path) for problem in problems] == [
        (str(path), 3, "model.droput"),
        (str(path), 4, "training.seed"),
        (str(tmp_path / "base.yaml"), 11, "modle"),
        (str(tmp_path / "base.yaml"), 12, "training"),
        (str(tmp_path / "base.yaml"), 12, "training.sed"),
    ]
    assert problems[2].source_line == "modle: 3"


@pytest.mark.parametrize(
    ("text", "line"), [("a: [1\nb: 2\n", 2), ("", 0), ("- a\n", 1), ("model: {}\n", 1)]
)
def test_a_base_that_is_no_blueprint_is_told_in_that_file(
    write: Write, tmp_path: Path, text: str, line: int
) -> None:
    [problem] = refused(write(a=extend("base.yaml"), base=text))
    assert (problem.file, problem.line) == (str(tmp_path / "base.yaml"), line)


def test_a_conflict_is_told_at_the_later_file(write: Write) -> None:
    path = write(a=extend("base.yaml", "model: {d_model: 66}\n"), base="\n" * 9 + BASE)
    [problem] = refused(path)
    assert (problem.file, problem.line, problem.path) == (str(path), 3, "model.d_model")
    assert "4" in problem.message
    [problem] = refused(path, "model.attention.heads=5")
    assert problem.file == "--set model.attention.heads=5"


def test_what_the_base_lacks_is_missing_in_the_file_that_extends_it(write: Write) -> None:
    [problem] = refused(write(a=extend("base.yaml"), base=HEAD))
    assert problem.path == "model"
    assert problem.file.endswith("a.yaml")


@pytest.mark.parametrize("name", ["missing.yaml", "./missing", "../missing.yml", "/no/where.yaml"])
def test_a_missing_base_is_told_with_its_whole_path(
    write: Write, tmp_path: Path, name: str
) -> None:
    path = write(a=extend(name, "training: {seed: x}\n"))
    [problem] = refused(path)
    assert (problem.file, problem.line, problem.path) == (str(path), 2, "extends")
    tried = (tmp_path / name).resolve()
    assert f"{tried}: " in problem.message


@pytest.mark.parametrize("name", ["date", "transformer_base", "'a\\0b.yaml'", '"\\e[2J.yaml"'])
def test_a_base_that_cannot_be_is_told_at_its_line(write: Write, name: str) -> None:
    [problem] = refused(write(a=extend(name)))
    assert (problem.line, problem.path) == (2, "extends")
    assert problem.message.isprintable()
    assert "`dates`" in problem.message or name != "date"


def test_a_folder_is_no_base(write: Write, tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    [problem] = refused(write(a=extend("folder.yaml")))
    assert "folder" in problem.message


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_circle_is_refused_with_its_chain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(count):
        text = extend(f"./{(number + 1) % count}.yaml")
        (tmp_path / f"{number}.yaml").write_text(text)
    [problem] = refused("0.yaml")
    chain = " → ".join(f"{number % count}.yaml" for number in range(count + 1))
    assert problem.message.endswith(chain)
    assert (problem.file, problem.line) == (f"{count - 1}.yaml", 2)


def test_a_circle_below_is_refused_too_and_links_hide_none(write: Write, tmp_path: Path) -> None:
    (tmp_path / "link.yaml").symlink_to(tmp_path / "b.yaml")
    path = write(a=extend("b.yaml"), b=extend("c.yaml"), c=extend("link.yaml"))
    assert "→" in refused(path)[0].message


def test_the_same_base_twice_is_no_circle(write: Write) -> None:
    base = write(base=BASE)
    for name in ("a", "b"):
        assert load(write(**{name: extend("base.yaml")})).model.d_model == 64
    assert load(base).name == "base"


def test_every_file_states_its_own_version(write: Write) -> None:
    [problem] = refused(write(a="extends: base.yaml\n", base=BASE))
    assert (problem.path, problem.line) == ("transom", 1)
    [problem] = refused(write(a=extend("base.yaml"), base=BASE.replace("transom: 1", "transom: 9")))
    assert "later Transom" in problem.message
    assert problem.file.endswith("base.yaml")
