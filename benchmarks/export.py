"""Small networks of several families into their files: how large, and how long it takes."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from builder.blueprint.load import load_blueprint
from builder.errors import BuilderError
from builder.export.export import export_run
from builder.runtime.verify import verify
from builder.text.control import CONTROL_NAMES
from builder.text.learn import learn_tokenizer
from frame import finish, print_table
from untrained import write_run

ROWS = 2_000
"""Of the vocabulary."""
FIRST_LETTER = 0x4E00
"""From here on Unicode has more letters than are needed."""
SIZES = [
    *("model.d_model=256", "model.layers=2", "model.attention.heads=4"),
    *("model.feed_forward.d_ff=1024", f"model.vocab_size={ROWS}", "tokenizer=char"),
]
BEAM = ["generation.kind=beam", "generation.beams=4", "generation.n_best=2"]
FAMILIES: dict[str, tuple[str, list[str]]] = {
    "transformer-base, greedy": ("transformer-base", ["generation.kind=greedy"]),
    "transformer-base, beam": ("transformer-base", BEAM),
    "transformer-base, sampling": ("transformer-base", ["generation.kind=sampling"]),
    "modern (rotary, RMSNorm, SwiGLU)": ("modern", BEAM),
    "bart (learned positions)": ("bart", BEAM),
    "t5 (relative positions)": ("t5", BEAM),
    "ALiBi, grouped queries": (
        "transformer-base",
        [*BEAM, "model.positions=alibi", "model.attention.kv_heads=2"],
    ),
}
GOALS = {"float32": (1.02, 200_000), "float16": (0.51, 200_000), "int8": (0.30, 0)}
"""How large a file may be: a factor of the bytes of the parameters in float32, and bytes beside."""
SMALLER = 0.9
"""What a file of another precision is smaller than, against the parameters in float32."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--precision", nargs="+", choices=GOALS, default=["float32", "int8"])
    parser.add_argument("--families", type=int, default=len(FAMILIES), help="the first so many")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for name, (bundled, overrides) in list(FAMILIES.items())[: options.families]:
            run = Path(temporary) / str(len(rows))
            make_run(run, bundled, overrides)
            for precision in options.precision:
                rows.append(measure(name, run, precision))
                print(rows[-1], file=sys.stderr, flush=True)
    report(rows)


def make_run(folder: Path, bundled: str, overrides: Sequence[str]) -> None:
    """Write a run of a bundled blueprint at a small size."""
    letters = "".join(map(chr, range(FIRST_LETTER, FIRST_LETTER + ROWS - len(CONTROL_NAMES))))
    tokenizer = learn_tokenizer("char", [letters], vocab_size=None, lowercase=False)
    lines = [letters[start : start + 20] for start in range(0, len(letters), 100)]
    write_run(folder, load_blueprint(bundled, [*SIZES, *overrides]), tokenizer, lines)


def measure(family: str, run: Path, precision: str) -> dict[str, Any]:
    """Export a run; say what this version cannot write, or refuses to."""
    row: dict[str, Any] = {"family": family, "precision": precision}
    comparing: list[float] = []

    def say(line: str) -> None:
        if line.startswith("comparing"):
            comparing.append(time.perf_counter())

    started, spent = time.perf_counter(), time.process_time()
    try:
        done = export_run(run, overrides=[f"export.precision={precision}"], say=say)
    except BuilderError as error:
        return row | {"refused": str(error)}
    ended, spent = time.perf_counter(), time.process_time() - spent
    if precision != "float32" and done.size_bytes > done.parameter_bytes * SMALLER:
        return row | {"missing": "the file is as large as one of float32"}
    verification = verify(done.path)
    return row | {
        "parameter_bytes": done.parameter_bytes,
        "file_bytes": done.size_bytes,
        "ratio": round(done.size_bytes / done.parameter_bytes, 4),
        "beside_bytes": done.size_bytes - done.parameter_bytes,
        "within": is_within(precision, done.size_bytes, done.parameter_bytes),
        "export_seconds": round(ended - started, 2),
        "cpu_seconds": round(spent, 2),
        "proof_seconds": round(ended - comparing[0], 2),
        "verify_seconds": round(time.perf_counter() - ended, 2),
        "verified": not verification.differences,
        "lines": done.proof.lines,
    }


def is_within(precision: str, file_bytes: int, parameter_bytes: int) -> bool:
    """Tell whether a file is as small as it is meant to be."""
    factor, beside = GOALS[precision]
    return file_bytes <= factor * parameter_bytes + beside


def report(rows: Sequence[dict[str, Any]]) -> None:
    """Print the table and the figures."""
    sizes = ("file_bytes", "ratio", "within")
    keys = (*sizes, "export_seconds", "cpu_seconds", "proof_seconds", "verify_seconds")
    print_table(
        ["family", "precision", *(key.replace("_", " ") for key in keys)],
        [
            [row["family"], row["precision"], *(row.get(key, "none") for key in keys)]
            for row in rows
        ],
    )
    finish({"rows": rows})


if __name__ == "__main__":
    main()
