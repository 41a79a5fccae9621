"""What every benchmark shares: a fair clock, a table for people, one line of JSON for programs."""

from __future__ import annotations

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parent.parent
TRANSOM = Path(sys.executable).parent / "transom"
"""The command, as it is installed beside this Python."""
VERSIONS = ("transom", "numpy", "onnxruntime", "torch")


def data_folder(name: str) -> Path:
    """The folder `name` below DATA; ends the benchmark where it is not there."""
    data = os.environ.get("DATA")
    if not data:
        refuse(f"set DATA to the folder that holds {name}: make bench NAME=… DATA=…")
    folder = Path(data).absolute() / name
    if not folder.is_dir():
        refuse(f"{folder}: no such folder; benchmarks/README.md says what lies in it")
    return folder


def refuse(reason: str) -> NoReturn:
    """End with one line and exit code 2."""
    print(reason, file=sys.stderr)
    raise SystemExit(2)


def transom(*arguments: str | Path, cwd: Path) -> str:
    """Run one command as a user would and return its stdout; stderr is shown as it comes."""
    print(f"$ transom {' '.join(map(str, arguments))}", file=sys.stderr, flush=True)
    done = subprocess.run(
        [TRANSOM, *arguments], check=False, cwd=cwd, stdout=subprocess.PIPE, encoding="utf-8"
    )
    if done.returncode:
        raise SystemExit(done.returncode)
    return done.stdout


def seconds(command: Sequence[str | Path]) -> float:
    """How long a fresh process takes, its output thrown away."""
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - start


def interleaved(
    contestants: Mapping[str, Callable[[], float]], *, rounds: int
) -> dict[str, list[float]]:
    """Measure all contestants in turn, `rounds` times, after one round that does not count.

    Taking turns spreads the machine's moods over all of them alike.
    """
    figures: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds + 1):
        for name, measure in contestants.items():
            figure = measure()
            if number:
                figures[name].append(figure)
    return figures


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows in columns as wide as their widest entry; numbers to the right."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    for row in (header, ["-" * width for width in widths], *cells):
        first, *others = zip(row, widths, strict=True)
        print("  ".join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)]))


def finish(figures: Mapping[str, Any]) -> None:
    """Print the last line: the figures and what they depend on, as one JSON object."""
    print(json.dumps({**circumstances(), **figures}, ensure_ascii=False))


def circumstances() -> dict[str, Any]:
    """The commit, the versions and the machine that figures depend on."""
    return {
        "commit": _commit(),
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in VERSIONS},
        "cores": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS", "auto"),
        "machine": platform.machine(),
    }


def median(figures: Sequence[float]) -> float:
    """The middle figure, rounded to what repeats."""
    return round(statistics.median(figures), 4)


def _commit() -> str | None:
    """The commit of the checkout, marked where files differ from it; None outside of git."""
    if not shutil.which("git"):
        return None
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip() or None


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
