from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from builder.data.dates_styles import all_styles
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


def test_pairs_left_out_are_told(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for side in ("source", "target"):
        with (tmp_path / f"lines.{side}").open("a", encoding="utf-8") as file:
            file.write("a\n \n" if side == "source" else "\n\n")

    assert run_command(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "left out: 1 blank target, 1 blank both" in lines

    assert run_command([*command, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["dropped"] == {"blank target": 1, "blank both": 1}
    assert result["note"] == ""
    assert all("version:" in result["signatures"][name] for name in ("bleu", "chrf"))


def test_set_beside_two_files_is_refused(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command([*command, "--set", "data.test.path=x.tsv"]) == 2
    assert "--set" in capsys.readouterr().err


def test_another_search_can_be_scored(
    write_choir: WriteEcho, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command[1] = str(write_choir())

    assert run_command([*command, "--set", "generation.beams=2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scores"]["exact_match"] == 75.0
    for wrong in ("generation.kind=greedy", "model.layers=2"):
        assert run_command([*command, "--set", wrong]) == 2
        assert f"--set {wrong}" in capsys.readouterr().err


def test_one_file_alone_is_refused(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(command[:4]) == 2
    assert "--target" in capsys.readouterr().err


def test_the_extra_that_is_missing_is_named_for_this_command(
    write_echo: WriteEcho,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    package = write_echo()
    (tmp_path / "blueprint.yaml").write_text(
        "transom: 1\nmodel: {d_model: 16, attention: {heads: 2}}\ntokenizer: char\n"
        "data: {builtin: dates}\n"
    )
    monkeypatch.setitem(sys.modules, "babel", None)
    all_styles.cache_clear()

    assert run_command(["evaluate", str(package)]) == 2

    stderr = capsys.readouterr().err
    assert "`transom evaluate`" in stderr
    assert "transom[demo]" in stderr


def test_a_package_needs_neither_torch_nor_onnx(command: list[str]) -> None:
    script = (
        "import sys, cli.main\n"
        "for name in ('torch', 'onnx', 'sacrebleu', 'babel', 'safetensors', 'jaxtyping'):\n"
        "    sys.modules[name] = None\n"
        "import importlib.util as util\n"
        "find_spec = util.find_spec\n"
        "util.find_spec = lambda name: None if name == 'sacrebleu' else find_spec(name)\n"
        f"sys.argv = ['transom', *{command!r}]\n"
        "cli.main.main()"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("exact match: 75.00 %\n")
    assert "bleu" not in done.stdout
