from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.main import run_command


@pytest.fixture
def blueprint(tmp_path: Path) -> str:
    """A blueprint of nine pairs and one that is blank."""
    (tmp_path / "pairs.tsv").write_text("a b\tx\x1by\n" * 9 + "a\t \n")
    file = tmp_path / "bp.yaml"
    file.write_text(
        "transom: 1\nmodel: {embeddings: {tie: none}}\ntraining: {steps: 1}\n"
        "tokenizer: {source: word, target: char}\n"
        "data: {train: {path: pairs.tsv}, valid: {path: pairs.tsv}}\n"
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
    assert run_command(["data", blueprint, "--json", "--set", "data.max_length.target=3"]) == 0

    split, _ = json.loads(capsys.readouterr().out)["splits"]
    assert split["dropped"] == {"blank target": 1, "target over 3 tokens": 9}


def test_a_missing_file_is_named(blueprint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["data", blueprint, "--set", "data.train.path=gone.tsv"]) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert str(Path("gone.tsv").absolute()) in err
