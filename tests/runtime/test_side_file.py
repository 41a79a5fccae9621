"""Packages whose weights lie beside them, and what must not be read instead (SEC-03)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from builder.errors import DamageError, PackageError
from builder.runtime.package import Package
from builder.runtime.side_file import KEY, SideFile, side_file
from cli.main import run_command

WriteEcho = Callable[..., Path]
Change = Callable[[Path, Callable[[Any], object]], None]
NAME = "echo.onnx.data"
WEIGHTS = np.arange(4, dtype=np.float32).tobytes()


def entry(name: str = NAME, content: bytes = WEIGHTS) -> str:
    return SideFile(name, len(content), hashlib.sha256(content).hexdigest()).to_json()


def reads(location: str, *, constant: bool = False) -> Callable[[onnx.ModelProto], None]:
    """An edit that lets the graph return four floats that lie elsewhere."""

    def edit(model: onnx.ModelProto) -> None:
        tensor = TensorProto(name="weights", data_type=TensorProto.FLOAT, dims=[4])
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", location), ("offset", "0"), ("length", "16")):
            tensor.external_data.add(key=key, value=value)
        if constant:
            model.graph.node.append(helper.make_node("Constant", [], ["weights"], value=tensor))
        else:
            model.graph.initializer.append(tensor)
        model.graph.node.append(helper.make_node("Neg", ["weights"], ["read"]))
        model.graph.output.append(helper.make_tensor_value_info("read", TensorProto.FLOAT, [4]))

    return edit


@pytest.fixture
def write(write_echo: WriteEcho, change_package: Change) -> Callable[..., Path]:
    """Write a package of two files."""

    def write(location: str = NAME, *, told: str | None = None, constant: bool = False) -> Path:
        path = write_echo(metadata={KEY: told or entry()})
        change_package(path, reads(location, constant=constant))
        path.with_name(NAME).write_bytes(WEIGHTS)
        return path

    return write


def test_reads_its_own_weights(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = write()
    monkeypatch.chdir(path.parent)
    for name in (path, Path(path.name)):
        package = Package.load(name)
        assert package.generate(["abc"])[0].text == "abc"
        (read,) = package.session.run(["read"], {"source_ids": [[2]]})
        assert read.tolist() == [0, -1, -2, -3]


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize(
    "location",
    [
        "other.data",
        "../secret.bin",
        "{folder}/echo.onnx.data",
        "./echo.onnx.data",
        "",
        "*/_ORT_MEM_ADDR_/*",
    ],
)
def test_tensors_elsewhere_are_refused(
    write: Callable[..., Path], tmp_path: Path, location: str, constant: bool
) -> None:
    path = write(location.format(folder=tmp_path), constant=constant)
    path.with_name("other.data").write_bytes(WEIGHTS)
    (tmp_path.parent / "secret.bin").write_bytes(WEIGHTS)

    with pytest.raises(PackageError, match=r"echo\.onnx: its weights may lie in .*refused"):
        Package.load(path)


@pytest.mark.parametrize(
    "name",
    [
        "../secret.data",
        "/etc/x.data",
        "a/b.data",
        "a\\b.data",
        "c:x.data",
        "secret.bin",
        ".data",
        "\x1b.data",
        "",
    ],
)
def test_a_name_elsewhere_is_refused(write: Callable[..., Path], name: str) -> None:
    with pytest.raises(PackageError, match=f"damaged metadata: `{KEY}`") as caught:
        Package.load(write(name, told=entry(name)))
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    "told", ["", "7", "{", "[]", '{"name": 7}', "[" * 9999, entry().replace("sha256:", "")]
)
def test_an_entry_that_is_none_is_refused(write: Callable[..., Path], told: str) -> None:
    with pytest.raises(PackageError, match=f"damaged metadata: `{KEY}`"):
        Package.load(write(told=told or " "))


def test_two_entries_are_refused(write: Callable[..., Path], change_package: Change) -> None:
    path = write()
    change_package(path, lambda model: model.metadata_props.add(key=KEY, value=entry()))
    with pytest.raises(PackageError, match=f"damaged metadata: `{KEY}`"):
        Package.load(path)


def test_the_key_inside_a_text_says_nothing(write_echo: WriteEcho) -> None:
    path = write_echo(metadata={"transom.name": f"about {KEY}"})
    assert side_file(path.read_bytes()) is None
    Package.load(path)


def test_a_missing_file_is_told_by_name(write: Callable[..., Path]) -> None:
    path = write()
    place = path.with_name(NAME)
    place.unlink()
    with pytest.raises(PackageError, match=f"missing: {place}"):
        Package.load(path)


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_and_a_folder_are_refused(write: Callable[..., Path]) -> None:
    path = write()
    place = path.with_name(NAME)
    place.symlink_to(place.rename(path.with_name("secret.bin")))
    with pytest.raises(PackageError, match=f"link.*{place}"):
        Package.load(path)
    place.unlink()
    place.mkdir()
    with pytest.raises(PackageError, match=f"folder.*{place}"):
        Package.load(path)


@pytest.mark.parametrize("content", [b"", WEIGHTS[:-1], WEIGHTS + b"0", WEIGHTS[::-1]])
def test_other_content_is_refused(write: Callable[..., Path], content: bytes) -> None:
    path = write()
    path.with_name(NAME).write_bytes(content)
    with pytest.raises(DamageError, match=str(path.with_name(NAME))):
        Package.load(path)


@pytest.mark.parametrize("command", ["run", "verify", "evaluate"])
def test_commands_refuse_with_one_line(
    write: Callable[..., Path], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("../secret.bin")
    lines = path.with_name("lines")
    lines.write_text("a\n")
    more = {"run": ["a"], "evaluate": ["--source", str(lines), "--target", str(lines)]}

    assert run_command([command, str(path), *more.get(command, [])]) == 2
    stdout, stderr = capsys.readouterr()
    assert stdout == ""
    assert stderr.count("\n") == 1
    assert "../secret.bin" in stderr
