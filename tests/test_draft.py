"""A drafted blueprint is valid, and suits the pairs that it was made for."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.load import load_blueprint, parse_blueprint
from builder.data.pairs import Pairs
from builder.draft import draft_blueprint, write_new
from builder.errors import BlueprintError, DataError
from builder.inspection import inspect_data
from builder.training.corpus import learn

DRAW = random.Random(1)
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def word(letters: str = LETTERS, longest: int = 8) -> str:
    return "".join(DRAW.choices(letters, k=DRAW.randint(1, longest)))


def sentence() -> str:
    return " ".join(word() for _ in range(DRAW.randint(4, 20)))


def table(path: Path, pairs: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    return path


def drafted(path: Path) -> Blueprint:
    return parse_blueprint(draft_blueprint(path), "new.yaml", directory=path.parent)


NAMES = [(word(), " ".join(word("アイウエオ", 1) for _ in range(5))) for _ in range(400)]
"""Strings of letters, and symbols of a closed set."""
SENTENCES = [(sentence(), sentence()) for _ in range(400)]


def test_without_data_it_is_one_to_fill_in(tmp_path: Path) -> None:
    assert parse_blueprint(draft_blueprint(), "new.yaml").name == "my-model"
    named = draft_blueprint(out=tmp_path / "names.yaml")
    assert parse_blueprint(named, "new.yaml").name == "names"


def test_symbols_and_short_strings(tmp_path: Path) -> None:
    blueprint = drafted(table(tmp_path / "names.tsv", NAMES))

    assert blueprint.tokenizer is not None
    kinds = blueprint.tokenizer.source.kind, blueprint.tokenizer.target.kind
    assert (kinds, blueprint.tokenizer.shared) == (("char", "word"), False)
    assert blueprint.model.embeddings.tie == "target_output"
    assert blueprint.training is not None
    assert blueprint.training.validate_.metric == "exact_match"


def test_sentences_in_one_alphabet_share_merged_pieces(tmp_path: Path) -> None:
    blueprint = drafted(table(tmp_path / "talk.tsv", SENTENCES))

    assert blueprint.tokenizer is not None
    assert (blueprint.tokenizer.source.kind, blueprint.tokenizer.shared) == ("bpe", True)
    assert blueprint.model.embeddings.tie == "all"


@pytest.mark.parametrize("pairs", [NAMES, SENTENCES, [("a", "b")], [("é" * 3000, "日" * 9)] * 3])
def test_what_it_chooses_can_be_learned(tmp_path: Path, pairs: list[tuple[str, str]]) -> None:
    blueprint = drafted(table(tmp_path / "pairs.tsv", pairs))

    assert blueprint.tokenizer is not None
    assert blueprint.data is not None
    sources, targets = map(list, zip(*pairs, strict=True))
    source, target = learn(blueprint.tokenizer, Pairs(sources, targets))
    limits, reach = blueprint.data.max_length, blueprint.generation.max_length
    for left, right in zip(source.encode(sources), target.encode(targets), strict=True):
        assert len(left) <= limits.source
        assert len(right) <= limits.target
        assert len(right) <= reach.ratio * len(left) + reach.plus


def test_rare_giants_are_left_out(tmp_path: Path) -> None:
    path = table(tmp_path / "names.tsv", [*NAMES, ("x" * 50_000, "ア")])
    blueprint = drafted(path)

    assert blueprint.data is not None
    assert blueprint.data.max_length.source <= 64
    assert "left out: 1 longer pair" in draft_blueprint(path)


def test_tables_beside_it_are_named(tmp_path: Path) -> None:
    train = table(tmp_path / "names_train.tsv", NAMES)
    table(tmp_path / "names_dev.tsv", NAMES)
    table(tmp_path / "names_test.tsv", NAMES)
    out = tmp_path / "below" / "new.yaml"
    out.parent.mkdir()
    write_new(out, draft_blueprint(train, out=out))

    seen = inspect_data(load_blueprint(out))
    assert [split.pairs for split in seen.splits] == [len(NAMES)] * 3
    assert str(tmp_path) not in out.read_text("utf-8")


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX")
def test_its_commands_make_the_tables_that_it_names(tmp_path: Path) -> None:
    path = table(tmp_path / "it's 日本.tsv", NAMES)
    text = draft_blueprint(path)
    (command,) = (line for line in text.splitlines() if "# awk" in line)
    subprocess.run(command.split("#", 1)[1], shell=True, check=True, cwd=tmp_path)

    blueprint = parse_blueprint(text, "new.yaml", directory=Path.cwd())
    counts = [split.pairs for split in inspect_data(blueprint).splits]
    assert sum(counts) == len(NAMES)
    assert counts[0] > counts[1] >= 20


@pytest.mark.parametrize("name", ["no", "1e-4", ".hidden", "a\nb", "a # b", "a: b", "train"])
def test_odd_names_are_no_mistake(tmp_path: Path, name: str) -> None:
    path = table(tmp_path / f"{name}.tsv", NAMES[:9])
    blueprint = parse_blueprint(draft_blueprint(path), "new.yaml", directory=Path.cwd())

    assert blueprint.data is not None
    assert Path(str(vars(blueprint.data.train)["path"])).name == f"{name}.train.tsv"


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("mine")
    with pytest.raises(BlueprintError, match=r"mine\.yaml"):
        write_new(file, draft_blueprint())
    with pytest.raises(BlueprintError):
        write_new(tmp_path / "no" / "folder.yaml", draft_blueprint())
    assert file.read_text() == "mine"


def test_tables_without_pairs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        draft_blueprint(table(tmp_path / "empty.tsv", []))
    with pytest.raises(DataError):
        draft_blueprint(tmp_path / "missing.tsv")


HEADED = [("word", "no"), *NAMES]
"""A table whose first line names its columns; one name is a word that YAML 1.1 reads as false."""


def test_a_header_is_no_pair_and_names_the_columns(tmp_path: Path) -> None:
    train = table(tmp_path / "a.train.tsv", HEADED)
    table(tmp_path / "a.valid.tsv", HEADED[:9])
    table(tmp_path / "a.test.tsv", NAMES[:9])

    text = draft_blueprint(train, out=tmp_path / "new.yaml")
    blueprint = parse_blueprint(text, "new.yaml", directory=tmp_path)
    assert blueprint.data is not None
    splits = blueprint.data.train, blueprint.data.valid, blueprint.data.test
    columns = [vars(split)["columns"] for split in splits]
    assert [(each.source, each.target) for each in columns] == [("word", "no")] * 2 + [(1, 2)]
    assert [split.pairs for split in inspect_data(blueprint).splits] == [len(NAMES), 8, 9]


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX")
def test_its_commands_keep_the_header_in_both_tables(tmp_path: Path) -> None:
    path = table(tmp_path / "names.tsv", HEADED)
    text = draft_blueprint(path)
    (command,) = (line for line in text.splitlines() if "# awk" in line)
    subprocess.run(command.split("#", 1)[1], shell=True, check=True, cwd=tmp_path)

    seen = inspect_data(parse_blueprint(text, "new.yaml", directory=Path.cwd()))
    assert sum(split.pairs for split in seen.splits) == len(NAMES)


def test_a_header_that_names_a_column_twice_leaves_numbers(tmp_path: Path) -> None:
    path = tmp_path / "names.tsv"
    lines = ["word\tphones\tword", *(f"{source}\t{target}\t-" for source, target in NAMES)]
    path.write_text("\n".join(lines), "utf-8")

    blueprint = drafted(path)
    assert blueprint.data is not None
    assert vars(blueprint.data.train)["columns"].source == 1
    assert "`word`, `phones`" in draft_blueprint(path)
