from __future__ import annotations

import json
import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from builder.blueprint.model import Model
from builder.compile import compile_model
from builder.errors import RunError
from builder.weights import load_weights, read_tensors, save_weights, weights_of


def network(tie: str = "all", d_model: int = 8) -> nn.Module:
    stack = {"layers": 1, "attention": {"heads": 2}, "feed_forward": {"d_ff": 8}}
    section = {
        "d_model": d_model,
        "vocab_size": 13,
        "embeddings": {"tie": tie},
        "encoder": stack,
        "decoder": {**stack, "cross_attention": {"heads": 2}},
    }
    return compile_model(Model.model_validate(section))


ties = pytest.mark.parametrize(
    "tie", ["none", "source_target", "source_output", "target_output", "all"]
)


@ties
def test_save_load_save_is_identical(tmp_path: Path, tie: str) -> None:
    first, second = network(tie), network(tie)
    save_weights(weights_of(first), tmp_path / "first")

    load_weights(second, tmp_path / "first")
    save_weights(weights_of(second), tmp_path / "second")

    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    for name, value in first.state_dict().items():
        assert torch.equal(second.state_dict()[name], value)


@ties
def test_a_shared_matrix_is_stored_once_and_stays_shared(tmp_path: Path, tie: str) -> None:
    model = network(tie)
    save_weights(weights_of(model), tmp_path / "weights")

    stored = sum(tensor.numel() for tensor in read_tensors(tmp_path / "weights").values())
    assert stored == sum(parameter.numel() for parameter in model.parameters())

    pointers = [value.data_ptr() for value in model.state_dict().values()]
    load_weights(model, tmp_path / "weights")
    assert [value.data_ptr() for value in model.state_dict().values()] == pointers


def test_loading_is_no_part_of_the_gradient(tmp_path: Path) -> None:
    model = network()
    save_weights(weights_of(model), tmp_path / "weights")

    load_weights(model, tmp_path / "weights")

    assert all(parameter.is_leaf and parameter.requires_grad for parameter in model.parameters())


@pytest.mark.parametrize(
    "other", [{"tie": "none"}, {"d_model": 4}, {"tie": "source_target", "d_model": 4}]
)
def test_weights_of_another_network_are_refused_and_change_nothing(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    save_weights(weights_of(network(**other)), tmp_path / "weights")
    model = network()
    before = {name: value.clone() for name, value in model.state_dict().items()}

    with pytest.raises(RunError, match="weights"):
        load_weights(model, tmp_path / "weights")

    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


@pytest.mark.parametrize("dtype", [torch.int64, torch.complex64, torch.bool])
def test_tensors_that_are_no_real_numbers_are_refused(tmp_path: Path, dtype: torch.dtype) -> None:
    model = nn.Linear(2, 2, bias=False)
    save_file({"weight": torch.ones(2, 2, dtype=dtype)}, tmp_path / "weights")

    with pytest.raises(RunError):
        load_weights(model, tmp_path / "weights")


def cut(data: bytes) -> bytes:
    return data[:-1]


def cut_in_the_header(data: bytes) -> bytes:
    return data[:20]


def longer(data: bytes) -> bytes:
    return data + b"\0"


def empty(data: bytes) -> bytes:
    return b""


def other_header(data: bytes) -> bytes:
    return data[:8] + b"\x1b" + data[9:]


@pytest.mark.parametrize("damage", [cut, cut_in_the_header, longer, empty, other_header])
def test_a_damaged_file_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "weights"
    save_weights(weights_of(network()), path)
    path.write_bytes(damage(path.read_bytes()))

    with pytest.raises(RunError) as refusal:
        read_tensors(path)

    assert str(path) in str(refusal.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(RunError, match=path.name):
            read_tensors(path)


def header(name: str, dtype: str) -> bytes:
    """A file of the one tensor that `nn.Linear(1, 1, bias=False)` has."""
    entry = json.dumps({name: {"dtype": dtype, "shape": [1, 1], "data_offsets": [0, 4]}}).encode()
    return struct.pack("<Q", len(entry)) + entry + bytes(4)


@pytest.mark.parametrize(("name", "dtype"), [("we\x1b[31might", "F32"), ("weight", "F\x1b[31m")])
def test_what_the_file_says_is_escaped_in_messages(tmp_path: Path, name: str, dtype: str) -> None:
    model = nn.Linear(1, 1, bias=False)
    (tmp_path / "weights").write_bytes(header("weight", "F32"))
    load_weights(model, tmp_path / "weights")

    (tmp_path / "weights").write_bytes(header(name, dtype))
    with pytest.raises(RunError) as refusal:
        load_weights(model, tmp_path / "weights")

    assert str(refusal.value).isprintable()


class Marker:
    """Unpickling it would create a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("write", [pickle.dump, torch.save])
def test_nothing_is_unpickled(tmp_path: Path, write: Callable[..., None]) -> None:
    path, marker = tmp_path / "weights", tmp_path / "marker"
    with path.open("wb") as file:
        write({"weight": Marker(marker)}, file)

    with pytest.raises(RunError):
        load_weights(network(), path)

    assert not marker.exists()
    pickle.loads(pickle.dumps(Marker(marker)))
    assert marker.exists()


def test_weights_are_as_readable_as_any_other_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    save_weights({"weight": torch.ones(2)}, tmp_path / "weights")

    assert (tmp_path / "weights").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_any_view_can_be_saved(tmp_path: Path) -> None:
    whole = torch.arange(12.0).reshape(3, 4)

    save_weights({"turned": whole.T, "part": whole[1:, :2]}, tmp_path / "weights")

    assert torch.equal(read_tensors(tmp_path / "weights")["turned"], whole.T)
    assert torch.equal(read_tensors(tmp_path / "weights")["part"], whole[1:, :2])
