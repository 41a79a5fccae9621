"""The commands one after the other, as a user types them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

NAME = "Ünïcode 模型 🎉"
BLUEPRINT = f"""
transom: 1
name: {NAME}
model:
  d_model: 32
  layers: 1
  attention: {{heads: 2}}
  feed_forward: {{d_ff: 64}}
tokenizer: char
data:
  train: {{source: daten ü/pairs.source, target: daten ü/pairs.target}}
  valid: {{path: daten ü/pairs.tsv, columns: {{source: 1, target: 2}}}}
  max_length: 32
training: {{steps: 30, batch_tokens: 256, threads: 1, schedule: {{kind: noam, warmup: 10}}}}
generation: {{kind: beam, target_prefix: true}}
"""
TORCH_FREE = """
import sys
from cli.main import run_command
code = run_command(sys.argv[1:])
assert code == 0, code
assert not {"torch", "onnx"} & sys.modules.keys()
"""


def transom(*arguments: str | Path, cwd: Path, text: str | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "cli.main", *arguments],
        cwd=cwd,
        input=text,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_from_a_file_to_a_file_that_generates(
    tmp_path: Path, write_pairs: Callable[[Path], None]
) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    write_pairs(home / "daten ü")
    elsewhere.mkdir()
    blueprint = home / "umkehr.yaml"
    blueprint.write_text(BLUEPRINT, encoding="utf-8")

    assert "valid" in transom("check", blueprint, cwd=elsewhere)
    assert json.loads(transom("build", blueprint, "--json", cwd=home))["parameters"]
    transom("train", "umkehr.yaml", "--out", elsewhere / "run", cwd=home)

    moved = tmp_path / "moved here"
    shutil.move(elsewhere / "run", moved)
    shutil.rmtree(home / "daten ü")
    printed = transom("export", moved, cwd=tmp_path)
    package = moved / f"{NAME}.onnx"
    assert str(package) in printed

    lines = "abc a\n\nécé é\nlast without a line end"
    outputs = transom("run", package, cwd=elsewhere, text=lines)
    assert outputs.count("\n") == 4
    assert outputs.split("\n")[1] == ""
    assert outputs == transom("run", moved, cwd=elsewhere, text=lines)

    asked = ["--n-best=3", "--set=generation.beams=5", "--prefix=é", "--max-length=9"]
    several = transom("run", package, *asked, cwd=elsewhere, text=lines)
    assert several == transom("run", moved, *asked, cwd=elsewhere, text=lines)
    assert several.count("\n") == 12
    assert all(line.startswith("é") for line in several.split("\n")[:3])

    alone = tmp_path / "alone.onnx"
    shutil.copy(package, alone)
    done = subprocess.run(
        [sys.executable, "-c", TORCH_FREE, "run", str(alone)],
        input=lines.encode(),
        capture_output=True,
        check=False,
    )
    assert done.stdout.decode() == outputs, done.stderr

    done = subprocess.run(
        [sys.executable, "-c", TORCH_FREE, "verify", str(alone)], capture_output=True, check=False
    )
    assert b"digest" in done.stdout, done.stderr

    write_pairs(home / "daten ü")
    count = len((home / "daten ü" / "pairs.source").read_text(encoding="utf-8").splitlines())
    pairs = [f"--{side}={home / 'daten ü' / f'pairs.{side}'}" for side in ("source", "target")]
    scores = json.loads(transom("evaluate", alone, *pairs, "--json", cwd=elsewhere))["scores"]
    assert scores["exact_match"] + scores["sequence_error"] == pytest.approx(100)
    assert {"token_error", "char_error", "bleu", "chrf"} <= scores.keys()

    ours, theirs = (
        [float(line) for line in transom("score", model, *pairs, cwd=elsewhere).splitlines()]
        for model in (alone, moved)
    )
    assert len(ours) == count
    assert ours == pytest.approx(theirs, abs=1e-3)
    assert len(set(ours)) > count / 2
