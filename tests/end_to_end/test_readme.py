"""What the README tells a reader to type."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from builder.blueprint.load import parse_blueprint
from builder.export.export import export_run
from builder.training.train import train

pytestmark = pytest.mark.slow

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
EXPORTED = "runs/dates/dates.onnx"
BLUEPRINT = """\
transom: 1
name: dates
model: {d_model: 32, layers: 1, attention: {heads: 2}, feed_forward: {d_ff: 64}}
tokenizer: char
data: {train: {path: pairs.tsv}, valid: {path: pairs.tsv}, max_length: 32}
training: {steps: 60, batch_tokens: 256, threads: 1, schedule: {kind: noam, warmup: 20}}
"""
LINE = "le 3 mars 2021"


def output(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, *command], cwd=cwd, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_python_examples_write_what_the_command_writes(
    tmp_path: Path, write_pairs: Callable[[Path], None]
) -> None:
    codes = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert [code.count(EXPORTED) for code in codes] == [1, 1]
    assert [code.count(LINE) for code in codes] == [1, 1]
    write_pairs(tmp_path)
    blueprint = parse_blueprint(BLUEPRINT, "dates.yaml", directory=tmp_path)
    package = export_run(train(blueprint, tmp_path / "run")).path
    example = tmp_path / "example.py"

    for line in (LINE, "abc a", "é"):
        for code, limit in zip(codes, ([], ["--max-length=12"]), strict=True):
            text = code.replace(EXPORTED, str(package)).replace(LINE, line)
            example.write_text(text, encoding="utf-8")
            expected = output("-m", "cli.main", "run", package, line, *limit, cwd=tmp_path)
            assert output(example, cwd=tmp_path) == expected
            assert expected.strip()
