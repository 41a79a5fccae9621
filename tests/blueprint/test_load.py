"""A file becomes a blueprint, or all of its problems at their places."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.bundled import bundled_blueprints
from builder.blueprint.data import ParallelFiles, Table
from builder.blueprint.load import load_blueprint, parse_blueprint
from builder.errors import BlueprintError, Problem

Parse = Callable[..., Blueprint]
Refuse = Callable[..., list[Problem]]

SMALLEST = "transom: 1\nmodel: {}\n"


def refused(path: str | Path, *overrides: str) -> list[Problem]:
    with pytest.raises(BlueprintError) as raised:
        load_blueprint(path, overrides)
    return raised.value.problems


def test_defaults_are_the_papers() -> None:
    blueprint = parse_blueprint(SMALLEST, "bp.yaml", name="bp")

    model = blueprint.model
    assert (model.d_model, model.encoder.layers, model.decoder.layers) == (512, 6, 6)
    assert model.vocab_size is None
    assert model.encoder.attention.heads == (8,)
    assert (model.encoder.attention.d_k, model.encoder.attention.d_v) == (64, 64)
    assert model.encoder.feed_forward.d_ff == (2048,)
    assert model.encoder.positions[0].kind == "sinusoidal"
    assert (model.encoder.mask[0].kind, model.decoder.mask[0].kind) == ("full", "causal")
    assert model.embeddings.tie == "all"
    assert (blueprint.tokenizer, blueprint.data, blueprint.training) == (None, None, None)


def test_all_problems_come_at_once_in_the_order_of_the_file(refuse: Refuse) -> None:
    problems = refuse(
        "model:\n"
        "  attention: {heads: 7}\n"
        "  droput: 0.1\n"
        "  dropout: 1.5\n"
        "data:\n"
        "  train: {source: a}\n"
        "  valid: {source: a, target: b}\n"
        "training:\n"
        "  steps: 5\n"
        "  schedule: nooam\n"
    )

    assert [(p.line, p.column, p.path) for p in problems] == [
        (2, 15, "model.attention.heads"),
        (3, 3, "model.droput"),
        (4, 3, "model.dropout"),
        (6, 3, "data.train.target"),
        (10, 3, "training.schedule"),
    ]
    assert all(p.file == "bp.yaml" for p in problems)
    assert problems[1].source_line == "  droput: 0.1"
    assert "`dropout`" in problems[1].message
    assert "7" in problems[0].message
    assert "512" in problems[0].message
    assert "1.5" in problems[2].message
    assert "`noam`" in problems[4].message


def test_problems_of_yaml_hide_none_of_the_schema(refuse: Refuse) -> None:
    problems = refuse(
        "model:\n"
        "  d_model: !!int 5\n"
        "  attention: {heads: 7}\n"
        "  layers: 0\n"
        "training: {steps: 1, seed: 3.5}\n"
        "training: {seed: 2, step: 5}\n"
    )
    assert [(p.line, p.path) for p in problems] == [
        (2, "model.d_model"),
        (4, "model.layers"),
        (5, "training.seed"),
        (6, "training"),
        (6, "training.step"),
    ]


def test_a_file_without_version_or_model_is_told_both() -> None:
    with pytest.raises(BlueprintError) as raised:
        parse_blueprint("name: x\n", "bp.yaml", name=None)
    assert {problem.path for problem in raised.value.problems} == {"transom", "model"}


@pytest.mark.parametrize("content", [b"", b"# only\n# comments\n", b"---\n", b"\xef\xbb\xbf", b"~"])
def test_an_empty_file_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "bp.yaml"
    file.write_bytes(content)

    [problem] = refused(file)

    assert problem.file == str(file)
    assert "empty" in problem.message


@pytest.mark.parametrize("text", ["- a\n", "abc\n", "5\n", "[]\n"])
def test_a_document_that_is_no_section_is_refused(text: str) -> None:
    with pytest.raises(BlueprintError) as raised:
        parse_blueprint(text, "bp.yaml", name="bp")
    assert raised.value.problems[0].line == 1


def test_a_byte_order_mark_and_windows_lines_are_fine(tmp_path: Path) -> None:
    file = tmp_path / "bp.yaml"
    file.write_bytes(b"\xef\xbb\xbftransom: 1\r\nmodel:\r\n  d_model: 64\r\n")
    assert load_blueprint(file).model.d_model == 64


def test_bytes_that_are_no_text_are_told_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "bp.yaml"
    file.write_bytes(b"transom: 1\nname: \xff\n")
    [problem] = refused(file)
    assert "17" in problem.message
    assert "0xff" in problem.message


def test_a_file_that_is_not_there_is_named_with_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert refused("missing.yaml")[0].file == str(tmp_path / "missing.yaml")
    assert refused("./missing")[0].file == str(tmp_path / "missing")
    assert refused(str(tmp_path / "a\0b.yaml"))[0].message
    (tmp_path / "folder.yaml").mkdir()
    assert refused("folder.yaml")[0].file == str(tmp_path / "folder.yaml")


def test_an_endless_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bp.yaml"
    file.write_bytes(b"#" * 5_000_000)
    assert refused(file)[0].message


def test_the_name_is_the_files_stem_unless_given(tmp_path: Path) -> None:
    file = tmp_path / "my names.yaml"
    file.write_text(SMALLEST)
    assert load_blueprint(file).name == "my names"
    assert load_blueprint(file, ["name=other"]).name == "other"
    file.write_text(f"{SMALLEST}name: given\n")
    assert load_blueprint(file).name == "given"


@pytest.mark.parametrize("folder", [".", "data", ".."])
def test_data_paths_start_from_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    home = tmp_path / "home"
    (home / "data").mkdir(parents=True)
    file = home / "bp.yaml"
    file.write_text(
        f"{SMALLEST}data:\n"
        "  train: {source: data/train.src, target: ../train.trg}\n"
        "  valid: {path: /elsewhere/v.tsv, columns: {source: src, target: trg}}\n"
    )
    monkeypatch.chdir(home / folder)

    data = load_blueprint(file).data

    assert data is not None
    assert isinstance(data.train, ParallelFiles)
    assert data.train.source == str(home / "data/train.src")
    assert data.train.target == str(tmp_path / "train.trg")
    assert isinstance(data.valid, Table)
    assert data.valid.path == "/elsewhere/v.tsv"
    assert data.valid.columns.source == "src"


def test_data_paths_of_overrides_and_bundled_blueprints_start_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "deep" / "bp.yaml"
    file.parent.mkdir()
    file.write_text(f"{SMALLEST}data: {{train: {{path: a.tsv}}, valid: {{path: b.tsv}}}}\n")

    data = load_blueprint(file, ["data.train.path=new.tsv"]).data
    bundled = load_blueprint("katakana").data

    assert data is not None
    assert isinstance(data.train, Table)
    assert isinstance(data.valid, Table)
    assert data.train.path == str(tmp_path / "new.tsv")
    assert data.valid.path == str(tmp_path / "deep/b.tsv")
    assert bundled is not None
    assert isinstance(bundled.train, Table)
    assert bundled.train.path.startswith(str(tmp_path))


def test_variables_in_paths_stay_as_they_are(parse: Parse) -> None:
    data = parse(
        "data: {train: {source: '${NOT_SET_ANYWHERE}/a', target: ~/b$5},"
        " valid: {builtin: dates}}".replace("~/", "'~/").replace("$5}", "$5'}")
    ).data
    assert data is not None
    assert isinstance(data.train, ParallelFiles)
    assert data.train.source.endswith("/${NOT_SET_ANYWHERE}/a")
    assert data.train.target.endswith("/~/b$5")


def test_a_name_without_slash_and_ending_is_a_bundled_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dates").write_text(SMALLEST)

    assert load_blueprint("dates").name == "dates"
    [problem] = refused("date")
    assert "`dates`" in problem.message
    assert all(name in problem.message for name in bundled_blueprints())


def test_control_characters_in_messages_are_escaped(refuse: Refuse) -> None:
    text = '"a\\e[31m\\a": 3\nmodel: {positions: "\\e[2J"}\nname: "\\u202e"\ntransom: 1\n'
    for problem in refuse(text):
        assert str(problem).replace("\n", "").isprintable()


def test_loading_imports_neither_torch_nor_numpy() -> None:
    script = (
        "import sys\n"
        "from builder.blueprint.load import load_blueprint\n"
        "from builder.blueprint.plan import make_plan\n"
        "from builder.blueprint.write import dump_blueprint\n"
        "blueprint = load_blueprint('dates')\n"
        "make_plan(blueprint), dump_blueprint(blueprint)\n"
        "print([name for name in ('torch', 'numpy', 'rich', 'onnx') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("stem", ["n" * 120, ".hidden", "a\\b"])
def test_a_file_whose_name_is_no_name_is_told_to_write_one(tmp_path: Path, stem: str) -> None:
    file = tmp_path / f"{stem}.yaml"
    file.write_text("transom: 1\nmodel: {}\n")

    with pytest.raises(BlueprintError) as raised:
        load_blueprint(file)
    [problem] = raised.value.problems
    assert problem.path == "name"
    assert "`name: my-model`" in problem.message
    file.write_text("transom: 1\nname: good\nmodel: {}\n")
    assert load_blueprint(file).name == "good"


@pytest.mark.parametrize("path", ["dates.yaml", "blueprints/dates.yml", "./dates.yaml"])
def test_a_bundled_blueprint_asked_for_as_a_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BlueprintError, match="`dates`"):
        load_blueprint(path)
    with pytest.raises(BlueprintError) as raised:
        load_blueprint("dat.yaml")
    assert "`" not in str(raised.value)
