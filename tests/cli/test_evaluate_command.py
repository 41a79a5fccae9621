from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.main import run_command

WriteEcho = Callable[..., Path]


@pytest.fixture
def command(write_echo: WriteEcho, tmp_path: Path) -> list[str]:
    """`transom evaluate` of the echo package on four pairs, of which it gets three right."""
    source, target = tmp_path / "lines.source", tmp_path / "lines.target"
    source.write_text("abc\nab\n日本\né\n", encoding="utf-8")
    target.write_text("abc\nba\n日本\né\n", encoding="utf-8")
    return [
        "evaluate", str(write_echo()), "--source", str(source), "--target", str(target),
    ]  # fmt: skip


def test_prints_scores_and_samples(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([*command, "--samples", "2"]) == 0

    stdout, stderr = capsys.readouterr()
    lines = stdout.splitlines()
    assert lines[0] == "exact match: 75.00 %"
    assert "sequence error: 25.00 %" in lines
    assert [line for line in lines if "→" in line] == ["  abc → abc", "  日本 → 日本"]
    assert stderr == ""


def test_json(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([*command, "--json", "--samples", "4"]) == 0

    result = json.loads(capsys.readouterr().out)
    assert result["scores"]["exact_match"] == 75.0
    assert result["pairs"] == 4
    assert result["samples"][1] == {"source": "ab", "target": "ba", "output": "ab"}


def test_one_file_alone_is_refused(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(command[:4]) == 2
    assert "--target" in capsys.readouterr().err
