from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.main import run_command


@pytest.fixture
def blueprint(tmp_path: Path) -> str:
    """A blueprint of nine pairs and one that is blank, and of another pair to validate on."""
    (tmp_path / "pairs.tsv").write_text("a b\tx\x1by\n" * 9 + "a\t \n")
    (tmp_path / "valid.tsv").write_text("b a\ty\n")
    file = tmp_path / "bp.yaml"
    file.write_text(
        "transom: 1\nmodel: {embeddings: {tie: none}}\ntraining: {steps: 1}\n"
        "tokenizer: {source: word, target: char}\n"
        "data: {train: {path: pairs.tsv}, valid: {path: valid.tsv}}\n"
    )
    return str(file)


def test_prints_what_the_model_will_see(blueprint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["data", blueprint, "--samples", "1"]) == 0

    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("train: 9 pairs from ")
    assert "  left out: 1 blank target" in out
    assert "  source: median 3 tokens, 95 % at most 3, longest 3; unknown 0.00 %" in out
    assert "vocabulary: source 6 rows, target 7 rows" in out
    assert out.count("a b  =  ␣a ␣b\n") == 1
    assert "\x1b" not in out


def test_prints_one_json_object(blueprint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["data", blueprint, "--json"]) == 0

    seen = json.loads(capsys.readouterr().out)
    assert seen["splits"][0]["dropped"] == {"blank target": 1}
    assert seen["warnings"] == []


def test_warns_on_stderr_and_fails_where_training_would(
    blueprint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["data", blueprint, "--set", "data.max_length.target=3"]) == 2

    out, err = capsys.readouterr()
    assert out.startswith("train: 0 pairs from ")
    assert "valid: 1 pair from " in out
    assert [line.partition(" usable")[0] for line in err.splitlines()] == ["warning: data.train: 0"]


def test_a_missing_section_is_named_with_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bp.yaml"
    file.write_text("transom: 1\nmodel: {}\n")

    assert run_command(["data", str(file)]) == 2
    keys = [line.removeprefix(f"{file}: ").partition(":")[0]
            for line in capsys.readouterr().err.splitlines()]  # fmt: skip
    assert keys == ["tokenizer", "data"]


def test_a_missing_file_is_named(blueprint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["data", blueprint, "--set", "data.train.path=gone.tsv"]) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert str(Path("gone.tsv").absolute()) in err
