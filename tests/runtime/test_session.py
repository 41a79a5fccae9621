from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from builder.errors import MemoryFailure, PackageError
from builder.runtime import session
from builder.runtime.package import Package

WriteEcho = Callable[..., Path]
Change = Callable[[Path, Callable[[Any], object]], None]


@pytest.mark.parametrize("content", [b"", b"hello", b"\x08\x0a", b"\x00" * 100])
def test_refuses_what_is_no_graph(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "not.onnx"
    path.write_bytes(content)

    with pytest.raises(PackageError, match=r"not\.onnx: not an ONNX file"):
        Package.load(path)


@pytest.mark.parametrize("name", ["words.yaml", "words.YML"])
def test_a_blueprint_is_no_package(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("transom: 1\n")

    with pytest.raises(PackageError, match=f"{name}: .*blueprint.*export"):
        Package.load(tmp_path / name)


def test_what_the_engine_cannot_hold_is_a_failure(
    write_echo: WriteEcho, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_echo()

    def refuse(*_: object, **__: object) -> None:
        raise session.state.RuntimeException("bad allocation")

    monkeypatch.setattr(session.onnxruntime, "InferenceSession", refuse)
    with pytest.raises(MemoryFailure, match=f"{path.stat().st_size:,} bytes"):
        Package.load(path)


def test_every_error_of_the_engine_is_known() -> None:
    kinds = {kind for kind in vars(session.state).values() if isinstance(kind, type)}

    assert {kind for kind in kinds if issubclass(kind, Exception)} < set(session.ENGINE_ERRORS)


def test_refuses_half_a_file(write_echo: WriteEcho) -> None:
    path = write_echo()
    path.write_bytes(path.read_bytes()[:-100])

    with pytest.raises(PackageError, match=r"echo\.onnx: "):
        Package.load(path)


def test_names_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for name in ("missing.onnx", "dates"):
        with pytest.raises(PackageError, match=f"{tmp_path / name}: no such file.*run folder"):
            Package.load(tmp_path / name)
    with pytest.raises(PackageError, match="folder"):
        Package.load(tmp_path)


def test_shows_control_characters_of_a_path_escaped(tmp_path: Path) -> None:
    with pytest.raises(PackageError) as caught:
        Package.load(tmp_path / "\x1b[31m.onnx")
    assert "\x1b" not in str(caught.value)


def test_refuses_another_graph_with_our_metadata(
    write_echo: WriteEcho, change_package: Change
) -> None:
    path = write_echo()
    change_package(path, lambda model: model.graph.output.pop())

    with pytest.raises(PackageError, match="ended"):
        Package.load(path)


def outside(name: str, location: str) -> TensorProto:
    """A tensor whose four floats lie in another file."""
    tensor = TensorProto(
        name=name, data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL
    )
    for key, value in (("location", location), ("offset", "0"), ("length", "16")):
        tensor.external_data.add(key=key, value=value)
    return tensor


def add_initializer(graph: onnx.GraphProto, location: str) -> None:
    graph.initializer.append(outside("secret", location))
    graph.node.append(helper.make_node("Neg", ["secret"], ["read"]))


def add_constant(graph: onnx.GraphProto, location: str) -> None:
    graph.node.append(helper.make_node("Constant", [], ["read"], value=outside("", location)))


def add_to_a_branch(graph: onnx.GraphProto, location: str) -> None:
    branches = []
    for name in ("one", "other"):
        tensor = outside(f"secret of {name}", location)
        node = helper.make_node("Neg", [tensor.name], [f"read by {name}"])
        value = helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, [4])
        branches.append(helper.make_graph([node], name, [], [value], [tensor]))
    graph.initializer.append(helper.make_tensor("yes", TensorProto.BOOL, [], [True]))
    graph.node.append(
        helper.make_node("If", ["yes"], ["read"], then_branch=branches[0], else_branch=branches[1])
    )


@pytest.mark.parametrize("add", [add_initializer, add_constant, add_to_a_branch])
@pytest.mark.parametrize(
    "location", ["beside.bin", "../above.bin", "{folder}/beside.bin", "{up}", "*/_ORT_MEM_ADDR_/*"]
)
def test_reads_no_other_file(
    write_echo: WriteEcho,
    change_package: Change,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    add: Callable[[onnx.GraphProto, str], None],
    location: str,
) -> None:
    path = write_echo()
    folder = tmp_path / "inner"
    folder.mkdir()
    for file in (tmp_path / "above.bin", folder / "beside.bin"):
        np.arange(4, dtype=np.float32).tofile(file)
    rooms = Path(session.__file__).parent
    up = os.path.relpath(folder / "beside.bin", rooms / "session.py")

    def edit(model: onnx.ModelProto) -> None:
        add(model.graph, location.format(folder=folder, up=up))
        model.graph.output.append(helper.make_tensor_value_info("read", TensorProto.FLOAT, [4]))

    change_package(path, edit)
    moved = path.rename(folder / "echo.onnx")
    monkeypatch.chdir(folder)

    with pytest.raises(PackageError, match=r"echo\.onnx"):
        Package.load(moved)


def test_names_the_providers_there_are(write_echo: WriteEcho) -> None:
    with pytest.raises(PackageError, match=r"NoSuchProvider.*CPUExecutionProvider"):
        Package.load(write_echo(), providers=["NoSuchProvider"])


def test_is_silent_on_the_processor(
    write_echo: WriteEcho, capfd: pytest.CaptureFixture[str]
) -> None:
    Package.load(os.fspath(write_echo())).generate(["abc"])

    assert capfd.readouterr() == ("", "")


class Silent(Exception):
    """An error of an engine that says nothing."""


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (Silent(), "Silent"),
        (Silent(" \n"), "Silent"),
        (Silent("\none\ntwo"), "one"),
        (Silent("op \x1b[31m\ntwo"), r"op \x1b[31m"),
    ],
)
def test_what_an_engine_says_becomes_one_line(error: Exception, shown: str) -> None:
    assert session.first_line(error) == shown
