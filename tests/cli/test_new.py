from __future__ import annotations

from pathlib import Path

import pytest

from cli.main import run_command


def test_prints_a_blueprint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["new"]) == 0

    out, err = capsys.readouterr()
    assert err == ""
    file = tmp_path / "printed.yaml"
    file.write_text(out, "utf-8")
    assert run_command(["check", str(file)]) == 0


def test_writes_one_for_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pairs.tsv").write_text("ab\tAB\n" * 9)
    file = tmp_path / "mine.yaml"

    assert run_command(["new", "--from", str(tmp_path / "pairs.tsv"), "--out", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}\n"
    assert run_command(["check", str(file)]) == 0
    assert "name: mine " in file.read_text("utf-8")


def test_never_overwrites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("mine")

    assert run_command(["new", "--out", str(file)]) == 2
    assert file.read_text() == "mine"
    out, err = capsys.readouterr()
    assert out == ""
    assert str(file) in err
