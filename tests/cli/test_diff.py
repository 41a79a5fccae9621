from __future__ import annotations

import json
from pathlib import Path

import pytest

from builder.blueprint.compare import compare
from builder.blueprint.load import load_blueprint
from builder.blueprint.write import dump_blueprint
from cli.main import run_command


def test_prints_choices_sizes_and_masks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "transom: 1\nextends: dates\n"
        "model: {vocab_size: 90, decoder: {layers: 1, mask: {kind: window, before: 3}}}\n"
    )

    assert run_command(["diff", "dates", str(file)]) == 0

    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert "model.decoder.layers: 2 → 1" in lines
    assert "model.decoder.mask.before: none → 3" in lines
    assert "mask of the decoder: causal → window 3 before, 0 after" in lines
    assert any(line.startswith("  decoder attention: ") for line in lines)


def test_reads_run_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "blueprint.yaml").write_text(dump_blueprint(load_blueprint("dates")), "utf-8")

    assert run_command(["diff", str(tmp_path), "dates"]) == 0
    assert capsys.readouterr().out == "no difference in meaning\n"


def test_prints_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["diff", "dates", "katakana", "--json"]) == 0

    found = compare(load_blueprint("dates"), load_blueprint("katakana"))
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(found.as_dict()))


def test_what_is_no_blueprint_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["diff", "dates", "daets"]) == 2
    assert run_command(["diff", "dates", str(tmp_path)]) == 2
    assert capsys.readouterr().out == ""
