from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.main import run_command

WritePackage = Callable[..., Path]
Score = Callable[..., tuple[int, str, str]]


@pytest.fixture
def score(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Score:
    """Run `transom score` on pairs of lines; gives exit code, stdout and stderr."""

    def run(package: Path, source: str, target: str, *more: str) -> tuple[int, str, str]:
        files = {"source": source, "target": target}
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        sides = [part for name in files for part in (f"--{name}", str(tmp_path / name))]
        return run_command(["score", str(package), *sides, *more]), *capfd.readouterr()

    return run


def test_a_number_for_each_pair(write_choir: WritePackage, score: Score) -> None:
    code, stdout, stderr = score(write_choir(), "abc\n\na\n", "de\n\n§\n")

    assert (code, stdout) == (0, "-3.0000\n0.0000\n-2.0000\n")
    summary, warning = stderr.splitlines()
    assert f"3 pairs, 5 tokens: perplexity {math.e:.4g}" in summary
    assert warning.startswith("warning: ")
    assert "`§` in line 3" in warning


def test_json(write_choir: WritePackage, score: Score) -> None:
    code, stdout, _ = score(write_choir(), "abc\n\n", "dé\n\n", "--json")

    assert code == 0
    first, empty = map(json.loads, stdout.splitlines())
    assert first == {
        "source": "abc",
        "target": "dé",
        "log_prob": -3.0,
        "length": 3,
        "perplexity": pytest.approx(math.e),
    }
    assert (empty["log_prob"], empty["length"], empty["perplexity"]) == (0, 0, 1)


def test_nothing_has_no_perplexity(write_choir: WritePackage, score: Score) -> None:
    assert score(write_choir(), "", "") == (0, "", "")


@pytest.mark.parametrize(
    ("source", "target", "told"),
    [("a\nb\n", "a\n", "has 2"), ("a\n\n", "a\nb\n", "line 2: "), ("a\n", "abcdef\n", "line 1: ")],
)
def test_wrong_pairs(
    write_choir: WritePackage, score: Score, source: str, target: str, told: str
) -> None:
    code, stdout, stderr = score(write_choir(), source, target)

    assert (code, stdout, stderr.count("\n")) == (2, "", 1)
    assert told in stderr


def test_a_file_that_cannot_score(write_echo: WritePackage, score: Score) -> None:
    code, stdout, stderr = score(write_echo(), "a\n", "b\n")

    assert (code, stdout, stderr.count("\n")) == (2, "", 1)
    assert "--set generation.target_prefix=true" in stderr
    assert "run folder" in stderr


def test_both_files_are_needed(
    write_choir: WritePackage, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["score", str(write_choir()), "--source", "lines"]) == 2
    assert "--target" in capfd.readouterr().err
