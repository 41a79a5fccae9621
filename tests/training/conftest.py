"""A task that a tiny network can be trained on, and a watch that keeps what it is told."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.load import load_blueprint
from builder.blueprint.model import Model
from builder.compile import compile_model
from builder.nn.transformer import Transformer
from builder.training.watch import Event, Finished, Note, Progress, Started, Validated

BLUEPRINT = """\
transom: 1
name: backwards
model:
  d_model: 16
  layers: 1
  attention: {heads: 2}
  feed_forward: {d_ff: 32}
  dropout: 0.2
tokenizer: char
data:
  train: {path: train.tsv}
  valid: {path: valid.tsv}
  max_length: 12
training:
  batch_tokens: 60
  steps: 20
  schedule: {kind: noam, warmup: 10}
  validate: {every: 10}
  checkpoint: {every: 10}
  threads: 1
"""
STACK = {
    "layers": 1,
    "attention": {"heads": 2},
    "feed_forward": {"d_ff": 32},
    "dropout": dict.fromkeys(("residual", "embedding", "attention", "activation"), 0.0),
}
Load = Callable[..., Blueprint]


def backwards(count: int, seed: int) -> list[tuple[str, str]]:
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcde", k=draw.randint(2, 6))) for _ in range(count)]
    return [(word, word[::-1]) for word in words]


def write_pairs(path: Path, pairs: list[tuple[str, str]]) -> None:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Load the blueprint of the task, its data beside it, with overrides."""
    folder = tmp_path / "task"
    folder.mkdir()
    write_pairs(folder / "train.tsv", backwards(80, seed=1))
    write_pairs(folder / "valid.tsv", backwards(20, seed=2))
    (folder / "backwards.yaml").write_text(BLUEPRINT)

    def load(*overrides: str) -> Blueprint:
        return load_blueprint(folder / "backwards.yaml", overrides)

    return load


@dataclass
class KeepingWatch:
    """Keeps every event; `at` is called at each update, with its number."""

    at: Callable[[int], None] = lambda _step: None
    starts: list[Started] = field(default_factory=list)
    updates: list[Progress] = field(default_factory=list)
    validations: list[Validated] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ends: list[Finished] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        match event:
            case Started():
                self.starts.append(event)
            case Progress():
                self.updates.append(event)
                self.at(event.step)
            case Validated():
                self.validations.append(event)
            case Note(text=text):
                self.notes.append(text)
            case Finished():
                self.ends.append(event)


@pytest.fixture
def log_of() -> Callable[[Path], list[dict[str, Any]]]:
    """Read the log of a run."""

    def read(run: Path) -> list[dict[str, Any]]:
        text = (run / "log.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.split("\n") if line]

    return read


@pytest.fixture
def content() -> Callable[[Path], dict[str, Any]]:
    """All that a run holds of its training, but the time it took."""

    def read(run: Path) -> dict[str, Any]:
        found: dict[str, Any] = {"weights": (run / "weights.safetensors").read_bytes()}
        for path in (run / "checkpoints").rglob("*.*"):
            name = path.relative_to(run).as_posix()
            if path.name == "state.json":
                found[name] = json.loads(path.read_text()) | {"elapsed_s": None}
            elif path.suffix == ".safetensors":
                found[name] = path.read_bytes()
        return found

    return read


@pytest.fixture
def new_watch() -> type[KeepingWatch]:
    return KeepingWatch


@pytest.fixture
def network() -> Transformer:
    """A small network in float64, with dropout that draws nothing."""
    torch.manual_seed(7)
    model = Model.model_validate(
        {
            "d_model": 16,
            "vocab_size": {"source": 11, "target": 11},
            "encoder": STACK,
            "decoder": STACK | {"cross_attention": {"heads": 2}},
        }
    )
    return compile_model(model).double().train()
