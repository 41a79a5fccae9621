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


@pytest.fixture
def write_echo(tmp_path: Path) -> Callable[..., Path]:
    """Write the package `echo.onnx`; `metadata` replaces entries, or drops them by None."""

    def write(
        *, source_limit: int | None = None, metadata: Mapping[str, str | None] | None = None
    ) -> Path:
        model: Any = onnx.parser.parse_model(ECHO)
        entries = echo_metadata(source_limit) | dict(metadata or {})
        onnx.helper.set_model_props(
            model, {key: value for key, value in entries.items() if value is not None}
        )
        path = tmp_path / "echo.onnx"
        path.write_bytes(sealed(model))
        return path

    return write


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
        "transom.format": "1",
        "transom.name": "echo",
        "transom.blueprint": "transom: 1\nname: echo\n",
        "transom.tokenizer": tokenizer.to_json(),
        "transom.limits": json.dumps({"source": source_limit, "target": None}),
        "transom.special_ids": json.dumps({"pad": 0, "bos": 1, "eos": 2, "unk": 3}),
        "transom.vocab_size": json.dumps({"source": size, "target": size}),
        digest.KEY: digest.BLANK,
    }
