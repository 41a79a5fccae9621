"""English names to katakana: how good, how small, how quickly trained (wikidata_translit)."""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from pathlib import Path

from safetensors import safe_open

from frame import data_folder, finish, print_table, transom

DATA_SET = "wikidata_translit"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, help="train for another time than the blueprint's")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the run in a new folder")
    options = parser.parse_args()
    data = data_folder(DATA_SET).parent
    with tempfile.TemporaryDirectory() as folder:
        measure(data, (options.keep or Path(folder) / "run").absolute(), options.minutes)


def measure(data: Path, run: Path, minutes: float | None) -> None:
    """Train, export and evaluate, each by its command; the exported file is what is scored."""
    train(data, run, minutes)
    transom("export", run, cwd=data)
    package = run / "katakana.onnx"
    result = json.loads(transom("evaluate", package, "--json", cwd=data))
    lines = (run / "log.jsonl").read_text("utf-8").split("\n")  # texts hold other separators
    log = [json.loads(line) for line in lines if line]
    figures = {
        "exact_match": round(result["scores"]["exact_match"], 2),
        "char_error": round(result["scores"]["char_error"], 2),
        "train_minutes": round(max(line.get("elapsed_s", 0.0) for line in log) / 60, 2),
        "parameters": count_parameters(run / "weights.safetensors"),
        "updates": max(line.get("step", 0) for line in log),
        "test_pairs": result["pairs"],
        "package_bytes": package.stat().st_size,
        "threads": log[0]["threads"],
    }
    print_table(["English names to katakana", "figure"], list(figures.items()))
    finish(figures)


def train(data: Path, run: Path, minutes: float | None) -> None:
    """Train the bundled blueprint, for its own time or another, into a new folder."""
    overrides = ["--set", f"training.minutes={minutes}"] if minutes else []
    transom("train", "katakana", "--out", run, *overrides, cwd=data)


def count_parameters(weights: Path) -> int:
    """Numbers in the file, which holds shared ones once."""
    with safe_open(weights, "numpy") as file:
        return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118


if __name__ == "__main__":
    main()
