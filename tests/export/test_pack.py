"""Where an export may be written, and what a packed file must hold."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import onnx
import onnx_ir as ir
import pytest

from builder.errors import BlueprintError, RunError
from builder.export import package
from builder.export.export import check_place, export_run
from builder.export.proof import varied
from builder.export.side_data import Content
from builder.runtime import digest

BLUEPRINT = """\
transom: 1
name: small
model: {d_model: 16, layers: 1, attention: {heads: 2}, feed_forward: {d_ff: 16}, vocab_size: 9}
"""


def empty_graph() -> ir.Model:
    return ir.Model(ir.Graph([], [], nodes=[], opset_imports={"": 20}), ir_version=10)


ENTRIES = {
    "transom.blueprint": "description: " + "0" * 300,
    "transom.tokenizer": '{"vocab": {"' + "0" * 64 + '": 4}}',
    digest.KEY: digest.BLANK,
}


def test_zeros_in_a_tokenizer_are_not_a_digest() -> None:
    data = package.pack(empty_graph(), ENTRIES, Content(b"")).data

    found = {entry.key: entry.value for entry in onnx.load_from_string(data).metadata_props}
    assert found.pop(digest.KEY) != digest.BLANK
    assert found == {key: ENTRIES[key] for key in found}
    assert len(found) == 2


def test_a_seal_that_changes_more_is_a_broken_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    def seal_all(data: bytes) -> bytes:
        return data.replace(b"0" * 64, b"a" * 64)

    monkeypatch.setattr(digest, "seal", seal_all)

    with pytest.raises(RuntimeError):
        package.pack(empty_graph(), ENTRIES, Content(b""))


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


def test_a_folder_where_the_second_file_might_lie_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.onnx.data").mkdir()
    with pytest.raises(RunError, match=r"x\.onnx\.data: is a folder"):
        check_place(tmp_path / "x.onnx")


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


@pytest.mark.slow
def test_a_place_reached_by_a_detour_leaves_no_folder_on_the_way(
    make_run: Callable[..., Path], tmp_path: Path
) -> None:
    export = export_run(make_run(), out=tmp_path / "new" / ".." / "other" / "x.onnx")

    assert export.path == (tmp_path / "other" / "x.onnx").resolve()
    assert export.path.is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
