"""`transom export` and its mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from builder.export import export as exporting
from builder.export.export import Export
from builder.export.proof import Proof
from cli.main import run_command

BLUEPRINT = """\
transom: 1
name: letters
model: {d_model: 16, layers: 1, attention: {heads: 2}, feed_forward: {d_ff: 16}, vocab_size: 9}
"""
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run folder as it is before the first weights."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "blueprint.yaml").write_text(BLUEPRINT)
    return folder


def refused(capsys: Capture, *arguments: str | Path) -> str:
    assert run_command(["export", *map(str, arguments)]) == 2
    stdout, stderr = capsys.readouterr()
    assert stdout == ""
    assert stderr.count("\n") == 1
    return stderr


def test_mistakes_are_told_in_a_line(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)

    assert str(tmp_path / "none") in refused(capsys, "none")
    assert str(run / "blueprint.yaml") in refused(capsys, run / "blueprint.yaml")
    assert "weights.safetensors" in refused(capsys, "run")
    assert f"{run}: is a folder" in refused(capsys, "run", "--out", "run")
    assert "--set model.layers=2" in refused(capsys, "run", "--set", "model.layers=2")
    wrong = refused(capsys, "run", "--precision", "int4")
    assert "--set export.precision=int4" in wrong
    assert "int8" in wrong


def test_the_path_alone_goes_to_stdout(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def export_run(folder: Path, *, out: Path, overrides: Sequence[str], say: Any) -> Export:
        expected = ["generation.max_length.plus=3", "export.precision=float32"]
        assert (folder, overrides) == (run, expected)
        say("tracing")
        return Export(out, 1234567, 1200000, Proof(lines=260, equal=259, near_ties=1))

    monkeypatch.setattr(exporting, "export_run", export_run)
    arguments = ["export", str(run), "--out", "x.onnx", "--set", "generation.max_length.plus=3"]
    assert run_command([*arguments, "--precision", "float32"]) == 0

    stdout, stderr = capsys.readouterr()
    assert stdout == "x.onnx\n"
    for part in ("tracing\n", "1,234,567 bytes", "260 lines", "1 by a near tie"):
        assert part in stderr


def test_all_files_that_belong_together_are_listed(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def export_run(*_: Any, out: Path, **__: Any) -> Export:
        return Export(out, 2**32, 2**32, Proof(), out.with_name("x.onnx.data"))

    monkeypatch.setattr(exporting, "export_run", export_run)
    assert run_command(["export", str(run), "--out", "x.onnx"]) == 0

    stdout, stderr = capsys.readouterr()
    assert stdout == "x.onnx\nx.onnx.data\n"
    assert "belong together" in stderr
