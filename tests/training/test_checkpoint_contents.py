"""Checkpoints whose digests are right and whose contents no training wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from builder.errors import RunError
from builder.training import checkpoint
from builder.training.checkpoint import Checkpoints, damage
from builder.training.state import State
from builder.weights import read_tensors, save_weights

STATE = State(step=3, epoch=1, position=2, elapsed_s=4.5, validated=2, waited=1)


def learned(seed: int) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    model = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(4, 3)).square().sum().backward()
    optimizer.step()
    return model, optimizer


def broken_by_hand(tmp_path: Path, name: str, change: Callable[[Path], object]) -> Checkpoints:
    """A checkpoint with one file changed and its digest made anew."""
    checkpoints = Checkpoints(tmp_path, "abc")
    checkpoints.save(STATE, *learned(1))
    (path,) = checkpoints.newest_first()
    change(path / name)
    (path / "sha256sums.txt").write_text(checkpoint._sums(path))
    assert damage(path) is None
    return checkpoints


@pytest.mark.parametrize(
    "numbers",
    [
        None,
        [],
        3,
        {"other": 1},
        {"step": "3"},
        {"step": 4},
        {"step": True},
        {"epoch": -1},
        {"epoch": 1.0},
        {"position": 4},
        {"position": None},
        {"validated": 9},
        {"waited": []},
        {"elapsed_s": None},
        {"elapsed_s": float("inf")},
        {"best": "0.25"},
        {"best": float("nan")},
    ],
    ids=str,
)
def test_a_state_that_no_training_wrote_is_refused(tmp_path: Path, numbers: Any) -> None:
    whole = asdict(STATE) | {"corpus": "abc"}
    content = whole | numbers if isinstance(numbers, dict) else numbers

    def write(path: Path) -> None:
        path.write_text(json.dumps(content))

    checkpoints = broken_by_hand(tmp_path, "state.json", write)
    with pytest.raises(RunError, match=r"step-3/state\.json: "):
        checkpoints.restore(*learned(2))


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\x1b[31m", "{}"], ids=lambda t: t[:5])
def test_a_state_that_is_no_json_is_refused(tmp_path: Path, text: str) -> None:
    checkpoints = broken_by_hand(tmp_path, "state.json", lambda path: path.write_text(text))

    with pytest.raises(RunError, match=r"step-3/state\.json: ") as caught:
        checkpoints.restore(*learned(2))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("name", "tensors"),
    [
        ("optimizer.safetensors", {}),
        ("optimizer.safetensors", {"nonsense": torch.zeros(2)}),
        ("optimizer.safetensors", {"exp_avg.bias": torch.zeros(2)}),
        ("generators.safetensors", {}),
        ("generators.safetensors", {"torch": torch.zeros(3)}),
        ("generators.safetensors", {"torch": torch.zeros(3, dtype=torch.uint8)}),
    ],
)
def test_tensors_that_no_training_wrote_are_refused(
    tmp_path: Path, name: str, tensors: dict[str, torch.Tensor]
) -> None:
    checkpoints = broken_by_hand(tmp_path, name, lambda path: save_weights(tensors, path))

    with pytest.raises(RunError, match=f"step-3/{name}: "):
        checkpoints.restore(*learned(2))


@pytest.mark.parametrize(
    "change", [lambda tensor: tensor[..., :1], lambda tensor: tensor.long()], ids=["shape", "kind"]
)
def test_moments_of_another_shape_or_kind_are_refused(
    tmp_path: Path, change: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    def write(path: Path) -> None:
        moments = read_tensors(path)
        save_weights(moments | {"exp_avg.weight": change(moments["exp_avg.weight"])}, path)

    checkpoints = broken_by_hand(tmp_path, "optimizer.safetensors", write)
    with pytest.raises(RunError, match=r"optimizer\.safetensors: .*exp_avg\.weight"):
        checkpoints.restore(*learned(2))
