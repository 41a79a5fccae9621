"""A package that several rooms' tests run, written by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import onnx.helper
import onnx.parser
import pytest

from builder.runtime import digest
from builder.text.learn import learn_tokenizer

ECHO = """
<ir_version: 10, opset_import: ["" : 20]>
echo (int64[batch, source] source_ids, int64 max_length) =>
     (int64[batch, 1, target] target_ids, float[batch, 1] scores,
      int64[batch, 1] lengths, bool[batch, 1] ended)
<int64 max_length = {2147483647}, int64[1] one = {1}, int64 pad = {0}, int64 time = {1}>
{
  padding = Equal(source_ids, pad)
  padded = Cast<to = 7>(padding)
  real = Sub(one, padded)
  whole = ReduceSum<keepdims = 1>(real, one)
  lengths = Min(whole, max_length)
  ended = Equal(lengths, whole)
  counted = Cast<to = 1>(lengths)
  scores = Neg(counted)
  place = CumSum<exclusive = 1>(real, time)
  kept = Less(place, lengths)
  cut = Where(kept, source_ids, pad)
  target_ids = Unsqueeze(cut, one)
}
"""
"""Gives each source back, cut off at `max_length`; keeps the contract of an exported graph."""

ECHO_LETTERS = "abcdefgh éß日本"


CHOIR = """
<ir_version: 10, opset_import: ["" : 20]>
choir (int64[batch, source] source_ids, int64 max_length, int64 min_length, int64 beams,
       int64 n_best, float length_penalty, int64[batch, prefix] target_prefix) =>
      (int64[batch, n_best, target] target_ids, float[batch, n_best] scores,
       int64[batch, n_best] lengths, bool[batch, n_best] ended)
<int64 max_length = {2147483647}, int64 min_length = {1}, int64 beams = {4}, int64 n_best = {1},
 float length_penalty = {0.6}, int64 zero = {0}, int64 one = {1}, int64 eos = {2},
 int64[1] first = {0}, int64[1] second = {1}, int64[2] before = {0, 0}, int64[1] last = {2},
 int64 free = {-1}, float hundred = {100}, float thousand = {1000}, float ten_thousand = {10000},
 float dead = {-inf}>
{
  sizes = Shape(source_ids)
  wide = Gather(sizes, second)
  sizes_of_prefix = Shape(target_prefix)
  prefix_wide = Gather(sizes_of_prefix, second)
  time = Max(wide, prefix_wide)
  more = Sub(time, wide)
  more_of_prefix = Sub(time, prefix_wide)
  widening = Concat<axis = 0>(before, first, more)
  widening_of_prefix = Concat<axis = 0>(before, first, more_of_prefix)
  source = Pad(source_ids, widening)
  prefix = Pad(target_prefix, widening_of_prefix, free)
  asked = Greater(prefix, free)
  tokens = Where(asked, prefix, source)
  is_end = Equal(tokens, eos)
  ends = Cast<to = 7>(is_end)
  ends_before = CumSum<exclusive = 1>(ends, one)
  is_before = Equal(ends_before, zero)
  is_token = Greater(tokens, zero)
  is_real = And(is_before, is_token)
  real = Cast<to = 7>(is_real)
  whole = ReduceSum<keepdims = 1>(real, second)
  cut = Min(whole, max_length)
  places = Range(zero, n_best, one)
  shorter = Sub(cut, places)
  lengths = Max(shorter, zero)
  ended = Equal(lengths, whole)
  counted = Cast<to = 1>(lengths)
  others = Sub(beams, one)
  extra_beams = Cast<to = 1>(others)
  longer = Sub(min_length, one)
  extra_length = Cast<to = 1>(longer)
  of_beams = Mul(extra_beams, thousand)
  of_length = Mul(extra_length, ten_thousand)
  of_penalty = Mul(length_penalty, hundred)
  some = Add(of_beams, of_length)
  every = Add(some, of_penalty)
  cost = Add(counted, every)
  value = Neg(cost)
  is_there = Greater(lengths, zero)
  scores = Where(is_there, value, dead)
  place = CumSum<exclusive = 1>(real, one)
  place_of_each = Unsqueeze(place, second)
  length_of_each = Unsqueeze(lengths, last)
  is_kept = Less(place_of_each, length_of_each)
  token_of_each = Unsqueeze(tokens, second)
  target_ids = Where(is_kept, token_of_each, zero)
}
"""
"""Gives each source back, its beginning replaced by the prefix; each further output is a token
shorter. Scores tell the options: −length − 100 · length_penalty − 1000 · (beams − 1)
− 10000 · (min_length − 1)."""

CHOIR_OPTIONS = {
    "max_length": 2**31 - 1,
    "min_length": 1,
    "beams": 4,
    "n_best": 1,
    "length_penalty": 0.6,
}


@pytest.fixture
def write_echo(tmp_path: Path) -> Callable[..., Path]:
    """Write the package `echo.onnx`; `metadata` replaces entries, or drops them by None."""

    def write(
        *, source_limit: int | None = None, metadata: Mapping[str, str | None] | None = None
    ) -> Path:
        entries = echo_metadata(source_limit) | dict(metadata or {})
        return write_package(tmp_path / "echo.onnx", ECHO, entries)

    return write


@pytest.fixture
def write_choir(tmp_path: Path) -> Callable[..., Path]:
    """Write the package `choir.onnx`, which has the options of beams and takes a prefix."""

    def write(metadata: Mapping[str, str | None] | None = None) -> Path:
        entries = echo_metadata(None) | {
            "transom.name": "choir",
            "transom.blueprint": blueprint_of("choir", "{kind: beam, target_prefix: true}"),
            "transom.options": json.dumps(CHOIR_OPTIONS),
        }
        return write_package(tmp_path / "choir.onnx", CHOIR, entries | dict(metadata or {}))

    return write


def write_package(path: Path, graph: str, entries: Mapping[str, str | None]) -> Path:
    """Write a graph with its metadata, those that are not None."""
    model: Any = onnx.parser.parse_model(graph)
    onnx.helper.set_model_props(
        model, {key: value for key, value in entries.items() if value is not None}
    )
    path.write_bytes(sealed(model))
    return path


def sealed(model: Any) -> bytes:
    """The bytes of a package, whose digest, if it has one, is made anew."""
    for entry in model.metadata_props:
        if entry.key == digest.KEY:
            entry.value = digest.BLANK
            return digest.seal(model.SerializeToString())
    return model.SerializeToString()


@pytest.fixture
def change_package() -> Callable[[Path, Callable[[Any], object]], None]:
    """Give a function that changes the graph in a package as its exporter could have."""

    def change(path: Path, edit: Callable[[Any], object]) -> None:
        model = onnx.load(path)
        edit(model)
        path.write_bytes(sealed(model))

    return change


def echo_metadata(source_limit: int | None) -> dict[str, str | None]:
    """The metadata of a package whose vocabulary is a few letters."""
    tokenizer = learn_tokenizer("char", [ECHO_LETTERS], vocab_size=None, lowercase=False)
    size = tokenizer.vocab_size
    return {
        "transom.format": "2",
        "transom.name": "echo",
        "transom.blueprint": blueprint_of("echo", "greedy"),
        "transom.tokenizer": tokenizer.to_json(),
        "transom.limits": json.dumps(
            {"source": source_limit, "target": None, "ratio": 1.0, "plus": 2}
        ),
        "transom.options": json.dumps({"max_length": 2**31 - 1}),
        "transom.proof": json.dumps({"lines": 0, "samples": []}),
        "transom.special_ids": json.dumps({"pad": 0, "bos": 1, "eos": 2, "unk": 3}),
        "transom.vocab_size": json.dumps({"source": size, "target": size}),
        digest.KEY: digest.BLANK,
    }


def blueprint_of(name: str, generation: str) -> str:
    """The blueprint of a package that generates so."""
    return f"transom: 1\nname: {name}\nmodel: {{}}\ngeneration: {generation}\n"
