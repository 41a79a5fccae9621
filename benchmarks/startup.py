"""How long a user waits for `transom --help`, for `transom check`, and for a first answer."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from builder.blueprint.load import load_blueprint
from builder.blueprint.write import dump_blueprint
from builder.text.learn import learn_tokenizer
from frame import TRANSOM, finish, interleaved, median, print_table, seconds

IMPORTS = "import typer, pydantic, yaml"
"""What no command of this kind can do without."""
ENGINE = "import numpy, onnxruntime, tokenizers"
"""What no answer can do without."""
ANSWER = """\
import sys
from builder.runtime.package import Package
print(Package.load(sys.argv[1]).generate([sys.argv[2]])[0].text)
"""
STAGES = """\
import json, sys, time
clock = time.perf_counter
times = [clock()]
import numpy
times.append(clock())
import onnxruntime
times.append(clock())
import tokenizers
times.append(clock())
from builder.runtime.package import Package
times.append(clock())
package = Package.load(sys.argv[1])
times.append(clock())
package.generate([sys.argv[2]])
times.append(clock())
print(json.dumps([later - sooner for sooner, later in zip(times, times[1:])]))
"""
STAGE_NAMES = ("numpy", "onnxruntime", "tokenizers", "builder.runtime", "load", "answer")
LINE = "le 3 mars 2021"


def long_blueprint(lines: int) -> str:
    """The paper's base model with every key written out, and comments up to `lines` lines."""
    keys = dump_blueprint(load_blueprint("transformer-base")).splitlines()
    comments = [f"# Comment {number} of a careful author." for number in range(lines - len(keys))]
    return "\n".join([*comments, *keys]) + "\n"


def dates_file(folder: Path) -> Path:
    """The dates model as a file: random weights, under which its outputs vary; nothing is trained.

    A step of it is the same work as with trained weights; how many there are is chance.
    """
    from builder.export.export import export_run
    from untrained import write_run

    letters = " ".join(map(chr, range(ord("!"), ord("~") + 1)))  # as many as the dates have
    tokenizer = learn_tokenizer("char", [letters], vocab_size=None, lowercase=False)
    rows = f"model.vocab_size={tokenizer.vocab_size}"
    write_run(folder / "run", load_blueprint("dates", [rows]), tokenizer, [LINE])
    return export_run(folder / "run").path


def keep_bytecode(folder: Path) -> None:
    """Let Python keep what it compiles, as in any installation, wherever these processes run."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)


def stages(file: Path, rounds: int) -> dict[str, float]:
    """Median seconds of the parts of a first answer."""
    command = [sys.executable, "-c", STAGES, file, LINE]
    parts = [
        json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        for _ in range(rounds)
    ]  # its bytecode was kept by the rounds before
    return dict(zip(STAGE_NAMES, map(median, zip(*parts, strict=True)), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--lines", type=int, default=300, help="length of the blueprint")
    parser.add_argument("--file", type=Path, help="an exported file; else one is made")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        blueprint = Path(folder) / "long.yaml"
        blueprint.write_text(long_blueprint(options.lines), encoding="utf-8")
        file = (options.file or dates_file(Path(folder))).absolute()
        keep_bytecode(Path(folder) / "bytecode")
        python = [sys.executable, "-c"]
        commands: dict[str, list[str | Path]] = {
            f"importing {IMPORTS.removeprefix('import ')}": [*python, IMPORTS],
            "transom --help": [TRANSOM, "--help"],
            f"transom check, {options.lines} lines": [TRANSOM, "check", blueprint],
            f"importing {ENGINE.removeprefix('import ')}": [*python, ENGINE],
            "builder.runtime, first answer": [*python, ANSWER, file, LINE],
        }
        figures = interleaved(
            {name: partial(seconds, command) for name, command in commands.items()},
            rounds=options.rounds,
        )
        parts = stages(file, options.rounds)
    report(figures, parts, options)


def report(
    figures: Mapping[str, Sequence[float]], parts: Mapping[str, float], options: argparse.Namespace
) -> None:
    """Print both tables and the figures."""
    imports, help_seconds, check_seconds, engine, cold = map(median, figures.values())
    print_table(
        ["fresh process", "median s", "fastest s", "slowest s", "ratio"],
        [
            [name, median(times), min(times), max(times), median(times) / imports]
            for name, times in figures.items()
        ],
    )
    print_table(["a first answer is made of", "median s"], list(parts.items()))
    finish(
        {
            "help_seconds": help_seconds,
            "check_seconds": check_seconds,
            "import_seconds": imports,
            "ratio": round(check_seconds / imports, 3),
            "cold_seconds": cold,
            "engine_seconds": engine,
            "cold_parts": parts,
            "cold_weights": "as given" if options.file else "random",
            "rounds": options.rounds,
        }
    )


if __name__ == "__main__":
    main()
