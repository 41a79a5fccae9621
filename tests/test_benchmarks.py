from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("data", [None, "", "no/such/folder"])
def test_data_that_is_not_there_is_refused_in_a_line(data: str | None) -> None:
    done = run("katakana", data=data)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


def test_the_last_line_is_json() -> None:
    done = run("startup", "--rounds", "1")

    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert {"help_seconds", "check_seconds", "ratio", "commit", "versions", "threads"} <= set(
        figures
    )


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


def test_every_benchmark_is_in_the_table() -> None:
    names = {path.stem for path in BENCHMARKS.glob("*.py")} - {"frame", "damages", "peers"}
    table = (BENCHMARKS / "README.md").read_text(encoding="utf-8")

    assert [name for name in sorted(names) if f"| `{name}` |" not in table] == []
