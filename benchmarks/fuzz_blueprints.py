"""Random blueprints of the whole language: does what must hold of every network hold of each?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable

from frame import finish, print_table
from fuzz.drawn import Drawn, draw_blueprint
from fuzz.exported import check_export
from fuzz.invariants import check_invariants
from fuzz.pairs import FEW_LAYERS, pairwise

OFTEN = 50
"""Blueprints from one line of progress to the next."""

Check = Callable[[Drawn], object]


def main() -> None:
    options = parse_options()
    if options.seed is not None:
        repeat(options.seed, onnx=options.onnx > 0)
        return
    failed = failures("invariants", map(draw_blueprint, range(options.count)), hold)
    covering = pairwise(options.onnx)
    chosen = (draw_blueprint(seed, deepest=FEW_LAYERS) for seed in covering.seeds)
    failed_onnx = failures("export", chosen, export)
    print_table(
        ["check", "blueprints", "passed"],
        [
            ["invariants", options.count, options.count - len(failed)],
            ["export", options.onnx, options.onnx - len(failed_onnx)],
            ["pairs of choices exported", covering.possible, covering.covered],
        ],
    )
    finish(
        {
            "passed": options.count - len(failed),
            "count": options.count,
            "failed": failed,
            "onnx_passed": options.onnx - len(failed_onnx),
            "onnx_count": options.onnx,
            "onnx_failed": failed_onnx,
            "pairs_covered": covering.covered,
            "pairs_possible": covering.possible,
        }
    )


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="blueprints held to the invariants")
    parser.add_argument("--onnx", type=int, default=0, help="blueprints exported and compared")
    parser.add_argument(
        "--seed", type=int, help="show one blueprint and check it alone; with --onnx 1 its export"
    )
    return parser.parse_args()


def repeat(seed: int, *, onnx: bool) -> None:
    """Print the blueprint of a seed and check it, which ends in a traceback where it fails."""
    drawn = draw_blueprint(seed, deepest=FEW_LAYERS) if onnx else draw_blueprint(seed)
    print(drawn.text)
    (export if onnx else hold)(drawn)


def hold(drawn: Drawn) -> None:
    check_invariants(drawn.blueprint, drawn.seed)


def export(drawn: Drawn) -> None:
    check_export(drawn.blueprint, drawn.seed)


def failures(name: str, blueprints: Iterable[Drawn], check: Check) -> list[int]:
    """The seeds of those that fail, told on stderr as they come."""
    failed = []
    for number, drawn in enumerate(blueprints, start=1):
        try:
            check(drawn)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong is what is looked for
            failed.append(drawn.seed)
            notes = "".join(f"{note}: " for note in getattr(error, "__notes__", []))
            tell(f"{name}: seed {drawn.seed}: {notes}{type(error).__name__}: {error}")
        if number % OFTEN == 0:
            tell(f"{name}: {number} checked, {len(failed)} failed")
    return failed


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
