"""Where an export may be written, and what a packed file must hold."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from builder.errors import BlueprintError, RunError, SizeFailure
from builder.export import export as exporting
from builder.export import package
from builder.export.export import check_place, check_size, export_run
from builder.export.proof import Proof, varied
from builder.run import Run
from builder.runtime import digest
from builder.weights import weights_of

BLUEPRINT = """\
transom: 1
name: small
model: {d_model: 16, layers: 1, attention: {heads: 2}, feed_forward: {d_ff: 16}, vocab_size: 9}
"""
NOTHING: Any = None


def empty_graph() -> ir.Model:
    return ir.Model(ir.Graph([], [], nodes=[], opset_imports={"": 20}), ir_version=10)


ENTRIES = {
    "transom.blueprint": "description: " + "0" * 300,
    "transom.tokenizer": '{"vocab": {"' + "0" * 64 + '": 4}}',
    digest.KEY: digest.BLANK,
}


def test_zeros_in_a_tokenizer_are_not_a_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "metadata", lambda *_: ENTRIES)

    data = package.pack(empty_graph(), NOTHING, NOTHING, Proof())

    found = {entry.key: entry.value for entry in onnx.load_from_string(data).metadata_props}
    assert found.pop(digest.KEY) != digest.BLANK
    assert found == {key: ENTRIES[key] for key in found}
    assert len(found) == 2


def test_a_seal_that_changes_more_is_a_broken_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    def seal_all(data: bytes) -> bytes:
        return data.replace(b"0" * 64, b"a" * 64)

    monkeypatch.setattr(package, "metadata", lambda *_: ENTRIES)
    monkeypatch.setattr(digest, "seal", seal_all)

    with pytest.raises(RuntimeError):
        package.pack(empty_graph(), NOTHING, NOTHING, Proof())


@pytest.mark.parametrize(
    ("outputs", "shows"),
    [
        ([[4, 5, 2], [5, 4, 2]], True),
        ([[4, 5, 2], [4, 5, 2]], False),
        ([[4, 4], [5, 5]], False),
        ([[2], [2], [2]], False),
        ([[4], [5], []], True),
        ([[4], [5], [6], [7], [8, 8]], False),
    ],
)
def test_outputs_vary_between_lines_and_inside(outputs: list[list[int]], shows: bool) -> None:
    assert varied(outputs) == shows


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run folder that holds its blueprint alone: what comes first must be refused first."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "blueprint.yaml").write_text(BLUEPRINT)
    return folder


@pytest.mark.parametrize("place", [".", "folder", "file/x.onnx", "file/more/x.onnx"])
def test_a_place_that_takes_no_file_is_refused_before_anything_is_done(
    run: Path, tmp_path: Path, place: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    said: list[str] = []

    with pytest.raises(RunError) as caught:
        export_run(run, out=tmp_path / place, say=said.append)

    assert str(caught.value).startswith(f"{tmp_path / place}: ")
    assert said == []


def test_a_place_that_is_free_is_not_touched(tmp_path: Path) -> None:
    check_place(tmp_path / "new" / "folder" / "x.onnx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_must_not_be_written_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(RunError):
            check_place(tmp_path / "x.onnx")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("override", ["model.d_model=8", "name=other", "training.steps=3"])
def test_what_was_trained_cannot_be_set(run: Path, override: str) -> None:
    with pytest.raises(BlueprintError, match=rf"--set {override}.*`export\.\*` and `generation"):
        export_run(run, overrides=[override])
    with pytest.raises(BlueprintError, match="opset"):
        export_run(run, overrides=["export.opset=7"])


def test_weights_too_large_for_one_file_are_refused_before_tracing(
    make_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_run(lively=False)
    parameters = weights_of(Run.open(folder).load_model()).values()
    size = sum(parameter.numel() * parameter.element_size() for parameter in parameters)
    said: list[str] = []

    monkeypatch.setattr(exporting, "BESIDE_WEIGHTS_BYTES", 100)
    monkeypatch.setattr(exporting, "FILE_BYTES", size + 99)
    with pytest.raises(SizeFailure, match=rf"{size:,} bytes.*{size - 1:,}.*{size + 99:,}"):
        export_run(folder, say=said.append)

    assert said == []
    assert not list(folder.glob("*.onnx"))
    monkeypatch.setattr(exporting, "FILE_BYTES", size + 100)
    check_size(size)


def test_one_file_holds_two_gibibytes_and_no_more() -> None:
    """As protobuf counts them; the other number leaves room for all but the weights."""
    assert np.iinfo(np.int32).max == exporting.FILE_BYTES
    with pytest.raises(SizeFailure):
        check_size(exporting.FILE_BYTES)


@pytest.mark.slow
def test_a_place_reached_by_a_detour_leaves_no_folder_on_the_way(
    make_run: Callable[..., Path], tmp_path: Path
) -> None:
    export = export_run(make_run(), out=tmp_path / "new" / ".." / "other" / "x.onnx")

    assert export.path == (tmp_path / "other" / "x.onnx").resolve()
    assert export.path.is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
