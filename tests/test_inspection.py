"""What `inspect_data` reports is what training is given."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.load import parse_blueprint
from builder.data.batches import collate, plan_batches
from builder.errors import BlueprintError, DataError
from builder.inspection import Inspection, Side, inspect_data
from builder.training.corpus import read_corpus

TRAIN = [
    ("ab", "x y"),
    ("abc", "x"),
    ("abcdefgh", "y"),
    ("a", "x y z x y z"),
    ("", "x"),
    ("b", " "),
]
VALID = [("az", "x"), ("b", "q q")]
TEXT = """
transom: 1
model: {embeddings: {tie: none}}
tokenizer: {source: char, target: word}
data:
  train: {path: train.tsv}
  valid: {path: valid.tsv}
  max_length: {source: 8, target: 5}
training: {steps: 1, batch_tokens: 5}
"""


def write(path: Path, pairs: list[tuple[str, str]]) -> None:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")


@pytest.fixture
def blueprint(tmp_path: Path) -> Callable[..., Blueprint]:
    """A blueprint of small tables, some of whose keys may be changed."""
    write(tmp_path / "train.tsv", TRAIN)
    write(tmp_path / "valid.tsv", VALID)

    def load(*overrides: str) -> Blueprint:
        return parse_blueprint(TEXT, "bp.yaml", overrides, directory=tmp_path, name="bp")

    return load


def test_counts_lengths_and_unknowns(blueprint: Callable[..., Blueprint]) -> None:
    seen = inspect_data(blueprint())

    train, valid = seen.splits
    assert (train.name, train.pairs) == ("train", 2)
    assert train.dropped == {
        "blank source": 1, "blank target": 1, "source over 8 tokens": 1, "target over 5 tokens": 1
    }  # fmt: skip
    assert train.source == Side(median=3, most=9, longest=9, unknown=0.0)
    assert train.target == Side(median=2, most=7, longest=7, unknown=0.0)
    assert (valid.pairs, valid.dropped) == (2, {})
    assert valid.source == Side(median=2, most=3, longest=3, unknown=1 / 5)
    assert valid.target == Side(median=2, most=3, longest=3, unknown=2 / 5)
    assert seen.vocabulary == {"source": 4 + 8, "target": 4 + 3}
    assert not seen.shared


def test_samples_show_their_pieces(blueprint: Callable[..., Blueprint]) -> None:
    seen = inspect_data(blueprint(), samples=1)

    (sample,) = seen.samples
    assert (sample.source, sample.target) == ("ab", "x y")
    assert sample.source_pieces == ["a", "b"]
    assert [piece.strip() for piece in sample.target_pieces] == ["x", "y"]
    assert inspect_data(blueprint(), samples=0).samples == []


def test_padding_is_that_of_the_batches_trained_on(blueprint: Callable[..., Blueprint]) -> None:
    loaded = blueprint("data.max_length=16", "training.batch_tokens=64")
    assert loaded.data is not None
    assert loaded.tokenizer is not None
    assert loaded.training is not None
    store = read_corpus(loaded.data, loaded.tokenizer, measured=9).train
    batches = plan_batches(
        store.source.lengths, store.target.lengths, batch_tokens=64, seed=1, epoch=0
    )
    padded = [ids for batch in batches for ids in collate(store, batch, 0)]
    share = 1 - sum(np.count_nonzero(ids) for ids in padded) / sum(ids.size for ids in padded)

    whole = inspect_data(loaded).batches
    assert whole is not None
    assert (whole.updates, whole.padding) == (len(batches), pytest.approx(share))
    parts = inspect_data(blueprint("data.max_length=16", "training.batch_tokens=64",
                                   "training.microbatch_tokens=16")).batches  # fmt: skip
    assert parts is not None
    assert parts.padding <= whole.padding


def test_all_pairs_too_long_are_reported(blueprint: Callable[..., Blueprint]) -> None:
    seen = inspect_data(blueprint("data.max_length.source=2", "data.max_length.target=2"))

    train = seen.splits[0]
    assert (train.pairs, seen.batches, seen.samples) == (0, None, [])
    assert train.source is not None
    assert train.source.longest == 9


def test_blueprints_that_say_nothing_of_data(blueprint: Callable[..., Blueprint]) -> None:
    assert inspect_data(blueprint("training=")).batches is None
    with pytest.raises(BlueprintError) as raised:
        inspect_data(blueprint("data=", "tokenizer="))
    assert [problem.path for problem in raised.value.problems] == ["tokenizer", "data"]


def test_no_pair_at_all_is_refused(blueprint: Callable[..., Blueprint], tmp_path: Path) -> None:
    loaded = blueprint()
    write(tmp_path / "train.tsv", [("", "x")])
    with pytest.raises(DataError, match=r"0 usable pairs.*1 blank source"):
        inspect_data(loaded)


def test_plain_values_for_json(blueprint: Callable[..., Blueprint]) -> None:
    seen: Inspection = inspect_data(blueprint())

    plain = json.loads(json.dumps(seen.as_dict()))
    assert plain["splits"][0]["source"]["longest"] == 9
    assert plain["batches"]["updates"] == 1
