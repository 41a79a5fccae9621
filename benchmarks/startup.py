"""How long a user waits for `transom --help` and `transom check`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from builder.blueprint.load import load_blueprint
from builder.blueprint.write import dump_blueprint
from frame import TRANSOM, finish, interleaved, median, print_table, seconds

IMPORTS = "import typer, pydantic, yaml"
"""What no command of this kind can do without."""


def long_blueprint(lines: int) -> str:
    """The paper's base model with every key written out, and comments up to `lines` lines."""
    keys = dump_blueprint(load_blueprint("transformer-base")).splitlines()
    comments = [f"# Comment {number} of a careful author." for number in range(lines - len(keys))]
    return "\n".join([*comments, *keys]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--lines", type=int, default=300, help="length of the blueprint")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        blueprint = Path(folder) / "long.yaml"
        blueprint.write_text(long_blueprint(options.lines), encoding="utf-8")
        figures = interleaved(
            {
                f"importing {IMPORTS.removeprefix('import ')}": lambda: seconds(
                    [sys.executable, "-c", IMPORTS]
                ),
                "transom --help": lambda: seconds([TRANSOM, "--help"]),
                f"transom check, {options.lines} lines": lambda: seconds(
                    [TRANSOM, "check", blueprint]
                ),
            },
            rounds=options.rounds,
        )
    imports, help_seconds, check_seconds = map(median, figures.values())
    print_table(
        ["fresh process", "median s", "fastest s", "slowest s", "ratio"],
        [
            [name, median(times), min(times), max(times), median(times) / imports]
            for name, times in figures.items()
        ],
    )
    finish(
        {
            "help_seconds": help_seconds,
            "check_seconds": check_seconds,
            "import_seconds": imports,
            "ratio": round(check_seconds / imports, 3),
            "rounds": options.rounds,
        }
    )


if __name__ == "__main__":
    main()
