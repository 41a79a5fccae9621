from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from builder.blueprint.load import parse_blueprint
from builder.training.train import train

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def run(name: str, *arguments: str, data: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "DATA"}
    return subprocess.run(
        [sys.executable, BENCHMARKS / f"{name}.py", *arguments],
        check=False,
        capture_output=True,
        text=True,
        env=environment | ({} if data is None else {"DATA": data}),
    )


@pytest.mark.parametrize("name", ["katakana", "parity"])
@pytest.mark.parametrize("data", [None, "", "no/such/folder"])
def test_data_that_is_not_there_is_refused_in_a_line(name: str, data: str | None) -> None:
    done = run(name, data=data)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


def test_the_last_line_is_json(write_echo: Callable[..., Path]) -> None:
    done = run("startup", "--rounds", "1", "--file", str(write_echo()))

    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert {"help_seconds", "check_seconds", "ratio", "commit", "versions", "threads"} <= set(
        figures
    )
    assert figures["cold_seconds"] > 0
    assert len(figures["cold_parts"]) == 6


def test_damaged_blueprints_are_refused() -> None:
    done = run("mutate_blueprints", "--count", "55")

    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert (figures["count"], figures["accepted"], figures["tracebacks"]) == (55, 0, 0)
    assert {"right_line", "first_suggestion", "by_kind"} <= set(figures)


def test_random_blueprints_are_counted() -> None:
    done = run("fuzz_blueprints", "--count", "2")

    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert (figures["passed"], figures["count"], figures["failed"]) == (2, 2, [])


@pytest.mark.slow
def test_files_are_measured() -> None:
    done = run("export", "--families", "1", "--precision", "float32")

    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout.splitlines()[-1])["rows"]
    assert row["within"]
    assert row["verified"]


BLUEPRINT = """\
transom: 1
name: dates
model: {d_model: 32, layers: 1, attention: {heads: 2}, feed_forward: {d_ff: 64}}
tokenizer: char
data: {train: {path: pairs.tsv}, valid: {path: pairs.tsv}, test: {path: pairs.tsv}, max_length: 32}
training: {steps: 40, batch_tokens: 256, threads: 1, schedule: {kind: noam, warmup: 20}}
"""


@pytest.mark.slow
def test_outputs_are_compared(tmp_path: Path) -> None:
    numbers = [f"{number:03}" for number in range(0, 999, 37)]
    pairs = [f"{number}\t{number[::-1]}" for number in numbers]
    (tmp_path / "pairs.tsv").write_text("\n".join([*pairs, ""]), encoding="utf-8")
    train(parse_blueprint(BLUEPRINT, "dates.yaml", directory=tmp_path), tmp_path / "dates")

    keep = ["--keep", str(tmp_path), "--models", "dates", "--strategies", "beam"]
    done = run("parity", "--count", "20", *keep)

    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["equal"] + figures["near_ties"] == figures["count"] == 40
    assert [row["rules"] for row in figures["rows"]] == [False, True]


def test_every_benchmark_is_in_the_table() -> None:
    shared = {"frame", "damages", "peers", "peers_ctranslate2", "untrained"}
    names = {path.stem for path in BENCHMARKS.glob("*.py")} - shared
    table = (BENCHMARKS / "README.md").read_text(encoding="utf-8")

    assert [name for name in sorted(names) if f"| `{name}` |" not in table] == []


def test_inference_wants_cells_that_exist() -> None:
    done = run("inference", "--quick", "--only", "gigantic")

    assert (done.returncode, done.stdout) == (2, "")
    assert "gigantic" in done.stderr.splitlines()[-1]
