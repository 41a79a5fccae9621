"""What is probably not meant is told, under the key of the data it is about, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from builder.blueprint.load import parse_blueprint
from builder.doubts import find_doubts
from builder.inspection import Inspection, inspect_data

Pairs = list[tuple[str, str]]
Doubt = Callable[..., list[str]]

TEXT = """
transom: 1
model: {embeddings: {tie: none}}
tokenizer: {source: char, target: word}
data:
  train: {path: train.tsv}
  valid: {path: valid.tsv}
  max_length: 8
"""
TRAIN = [("ab", "x y"), ("bc", "y"), ("ca", "z x"), ("cab", "z")]
VALID = [("ba", "y x"), ("cb", "x"), ("acb", "z y")]


@pytest.fixture
def inspect(tmp_path: Path) -> Callable[..., tuple[Inspection, list[str]]]:
    """What is seen of a training and a validation table, and what there is to doubt."""

    def look(train: Pairs, valid: Pairs, *overrides: str) -> tuple[Inspection, list[str]]:
        for name, pairs in (("train", train), ("valid", valid)):
            text = "".join(f"{source}\t{target}\n" for source, target in pairs)
            (tmp_path / f"{name}.tsv").write_text(text, "utf-8")
        blueprint = parse_blueprint(TEXT, "bp.yaml", overrides, directory=tmp_path, name="bp")
        seen = inspect_data(blueprint)
        return seen, find_doubts(blueprint, seen)

    return look


@pytest.fixture
def doubt(inspect: Callable[..., tuple[Inspection, list[str]]]) -> Doubt:
    return lambda *about: inspect(*about)[1]


def test_sound_data_raises_none(doubt: Doubt) -> None:
    assert doubt(TRAIN, VALID) == []


@pytest.mark.parametrize("part", ["train", "valid"])
def test_a_part_without_usable_pairs(
    inspect: Callable[..., tuple[Inspection, list[str]]], part: str
) -> None:
    parts = {"train": TRAIN, "valid": VALID} | {part: [("abcabcabcabc", "x")] * 3}
    seen, doubts = inspect(parts["train"], parts["valid"])

    assert not seen.is_usable
    assert doubts[0].startswith(f"data.{part}: 0 usable pairs; 3 source over 8 tokens")
    assert "`data.max_length.source`" in doubts[0]


@pytest.mark.parametrize(("blank", "told"), [(1, 0), (2, 1)])
def test_many_pairs_left_out(doubt: Doubt, blank: int, told: int) -> None:
    doubts = doubt([*TRAIN, *[("", "x")] * blank], VALID)

    assert len(doubts) == told
    assert all(one.startswith("data.train: 33 %") and "2 blank source" in one for one in doubts)
    assert all("max_length" not in one for one in doubts)


def test_characters_that_training_never_saw(doubt: Doubt) -> None:
    [told] = doubt(TRAIN, [("дом", "x"), ("ab", "x y"), ("ёж", "y")])

    assert told.startswith("data.valid: ")
    assert "source tokens are unknown" in told
    assert "swapped" in told


def test_words_that_training_never_saw(doubt: Doubt) -> None:
    [told] = doubt(TRAIN, [("ab", "q r s"), ("bc", "t")])

    assert told.startswith("data.valid: ")
    assert "target tokens are unknown" in told
    assert "vocab_size" not in told


def test_a_vocabulary_that_holds_few_of_the_words(doubt: Doubt) -> None:
    words = [("ab", word) for word in "abcdefghij"]
    told = doubt(words, VALID, "tokenizer.target={kind: word, vocab_size: 6}")

    assert [one.partition(":")[0] for one in told] == ["data.train", "data.valid"]
    assert all("`tokenizer.target.vocab_size` keeps 6 rows" in one for one in told)


def test_validation_pairs_that_are_trained_on(doubt: Doubt) -> None:
    assert doubt(TRAIN, TRAIN[:2] + VALID) == []
    assert doubt(TRAIN, TRAIN[:2] + VALID[:2]) == []
    [told] = doubt(TRAIN, TRAIN[:3] + VALID[:2])
    assert told.startswith("data.valid: 60 % of the pairs (3 of 5)")
    assert "the same file" not in told


def test_one_file_for_both(doubt: Doubt, tmp_path: Path) -> None:
    [told] = doubt(TRAIN, VALID, f"data.valid.path={tmp_path / 'train.tsv'}")
    assert told.startswith("data.valid: 100 % of the pairs (4 of 4)")
    assert "the same file" in told


def test_targets_beyond_the_longest_output(doubt: Doubt) -> None:
    limit = "generation.max_length={ratio: 0.7, plus: 0}"  # 0.7 × 3 and 4 tokens, rounded down
    told = doubt(TRAIN, [("ba", "x"), ("bac", "y x")], limit)
    positions = "model.decoder.positions={kind: learned, max_length: 8}"

    assert [one.partition(": ")[0] for one in told] == ["data.valid"]
    assert "1 of 2 targets" in told[0]
    assert doubt(TRAIN, [("ba", "x x x x x x x")], positions) == []
    [told] = doubt(TRAIN, [("ba", "x x x x x x x x")], positions, "data.max_length.target=8")[1:]
    assert "1 of 1 target;" in told
