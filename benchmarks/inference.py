"""Our one file beside CTranslate2, transformers and optimum: the same weights, inputs, lengths."""

from __future__ import annotations

import argparse
import copy
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from engines.agreement import Agreement, compare, varied
from engines.cells import Cell, cells, draw_sources
from engines.contest import OURS, Contestant, Outcome, best_threads, measure
from engines.contestants import PEERS, PINNED, contestants
from engines.files import Files, tell
from engines.networks import BASE, SMALL
from engines.physics import Machine
from engines.process import Process
from engines.report import figures, print_cells, summary
from frame import finish, refuse

MINUTES = {"quick": 1.5, "usual": 13.0, "full": 60.0}
"""What the runs of all cells may take together; files and environments come on top."""
BEST = "best"
SHOWN = "'small float32 greedy 1-thread forced'"
QUIET = 0.5
"""The most processes that may want to run beside a benchmark, in the minute before it."""


def main() -> None:
    options = parse_options()
    threads = (1,) if options.processor_time else (2,) if options.quick else (2, 1)
    sizes = (SMALL,) if options.quick else (SMALL, BASE)
    chosen = [cell for cell in cells(sizes, threads) if options.only <= cell.words]
    if not chosen:
        refuse(f"no cell is {' '.join(sorted(options.only))}; the words are as in {SHOWN}")
    load = os.getloadavg()[0]
    if load > QUIET and not options.processor_time:
        tell(f"{load:.1f} processes are at work beside this one: the figures will be off")
    extent = "quick" if options.quick else "full" if options.full else "usual"
    with ExitStack() as stack:
        passing = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        files = Files((options.files or passing / "files").absolute())
        venv = options.venv or passing / "peers"
        names = options.peers or (PEERS[:1] if options.quick else PEERS)
        engines = contestants(stack, files, venv, names, full=options.full)
        if options.processor_time:
            engines = [replace(engine, clock="processor_seconds") for engine in engines]
        outcomes = run(chosen, engines, minutes=MINUTES[extent])
        if not outcomes:
            refuse("nothing was measured")
        pytorch = stack.enter_context(Process(sys.executable, "engines.pytorch"))
        machine = Machine(pytorch, {each.cell.threads for each in outcomes})
        report(outcomes, files, machine, load=load, processor_time=options.processor_time)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the small network and CTranslate2")
    parser.add_argument("--full", action="store_true", help="every engine in every cell, longer")
    parser.add_argument(
        "--only",
        type=lambda text: set(text.split()),
        default=set(),
        metavar="WORDS",
        help=f"the cells that have all of them, such as {SHOWN}",
    )
    parser.add_argument(
        "--peers", nargs="+", choices=PEERS, help="engines beside our file; all unless given"
    )
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="one thread, and its own seconds: for a machine on which others are at work",
    )
    parser.add_argument("--venv", type=Path, metavar="DIR", help="keep the peers in this folder")
    parser.add_argument("--files", type=Path, metavar="DIR", help="keep what engines load in it")
    return parser.parse_args()


def run(chosen: Sequence[Cell], engines: Sequence[Contestant], *, minutes: float) -> list[Outcome]:
    """Measure the cells; each has an equal share of the time that is left."""
    outcomes, used = [], 0.0
    for number, cell in enumerate(chosen):
        taking = [engine for engine in engines if engine.load(cell)]  # files are made here
        start = time.perf_counter()
        left = max(minutes * 60 - used, 0) / (len(chosen) - number)
        outcome = measure(cell, taking, budget_s=left)
        used += time.perf_counter() - start
        if outcome is not None:
            tell(f"{' '.join(map(str, cell.figures().values()))}: {outcome.ratio:.2f}")
            outcomes.append(outcome)
    return outcomes


def report(
    outcomes: Sequence[Outcome], files: Files, machine: Machine, **circumstances: object
) -> None:
    """Print the table and the figures; ends with 1 where outputs differ or never vary."""
    entries: list[dict[str, Any]] = []
    wrong = []
    for outcome in outcomes:
        agreement = agreed(outcome, files)
        network = files.with_ending(outcome.cell.size, outcome.cell.ending)
        share = machine.share(outcome.cell, outcome.rate(OURS), network)
        entries.append(figures(outcome, agreement, share))
        wrong += complaints(outcome, agreement)
    entries += [
        figures(best_threads(group), {}, None, threads=BEST) for group in by_threads(outcomes)
    ]
    print_cells(entries)
    for complaint in wrong:
        print(complaint)
    conditions = {"limits": machine.figures(), "peers": PINNED, **circumstances}
    finish({"cells": entries, **summary(entries), "wrong": wrong, **conditions})
    if wrong:
        raise SystemExit(1)


def agreed(outcome: Outcome, files: Files) -> dict[str, Agreement]:
    """Compare outputs, those that differ with the help of the network in float64."""
    cell = outcome.cell
    _, model = files.with_ending(cell.size, cell.ending)
    sources = draw_sources(cell.size.vocab_size, cell.batch)
    return compare(outcome, lambda: copy.deepcopy(model).double(), sources)


def complaints(outcome: Outcome, agreement: dict[str, Agreement]) -> list[str]:
    """What makes a comparison worth nothing."""
    cell = " ".join(map(str, outcome.cell.figures().values()))
    found = []
    if not varied(outcome.targets[OURS]):
        found.append(f"{cell}: the outputs do not vary")
    if outcome.cell.precision == "float32" and outcome.cell.search == "greedy":
        found += [
            f"{cell}: {each.different} of {each.count} outputs of {name} differ from ours"
            for name, each in agreement.items()
            if each.different
        ]
    return found


def by_threads(outcomes: Sequence[Outcome]) -> list[list[Outcome]]:
    """Those that differ in threads alone, where there are several."""
    groups: dict[tuple[object, ...], list[Outcome]] = {}
    for outcome in outcomes:
        figures_ = outcome.cell.figures()
        key = tuple(value for name, value in figures_.items() if name != "threads")
        groups.setdefault(key, []).append(outcome)
    return [group for group in groups.values() if len(group) > 1]


if __name__ == "__main__":
    main()
