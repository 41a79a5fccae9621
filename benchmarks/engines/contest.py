"""One cell: every engine in turn, and whether all of them wrote the same."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from engines.cells import Cell, draw_sources
from engines.process import Process

OURS = "ours"
NOT_PEERS = (OURS, "pytorch")
FEWEST, MOST = 3, 9
"""Rounds of a cell."""
SETTLE_S = 0.1
"""Between two runs: the threads of the one before may still spin."""

Targets = list[list[int]]


@dataclass(frozen=True)
class Contestant:
    """An engine in its process."""

    name: str
    process: Process
    asks: Callable[[Cell], dict[str, Any] | None]
    """What it loads for a cell; None where it does not take part."""
    clock: str = "seconds"
    """Which of the seconds that it tells count."""

    def load(self, cell: Cell) -> bool:
        """Make ready; tells whether it takes part."""
        wanted = self.asks(cell)
        if wanted is None:
            return False
        self.process.ask("load", **wanted, threads=cell.threads)
        return True

    def run(self, sources: Targets, limit: int) -> tuple[float, Targets]:
        """Return the seconds of the engine's own call and what it wrote."""
        time.sleep(SETTLE_S)
        answer = self.process.ask("run", sources=sources, limit=limit)
        return answer[self.clock], answer["targets"]


@dataclass(frozen=True)
class Outcome:
    """What came out for a cell."""

    cell: Cell
    rates: dict[str, list[float]]
    """Target tokens per second of each engine, a figure for each round."""
    targets: dict[str, Targets] = field(default_factory=dict)

    def rate(self, name: str) -> float:
        """The median of an engine."""
        return statistics.median(self.rates[name])

    @property
    def peer(self) -> str:
        """The fastest engine that is not ours."""
        return max((name for name in self.rates if name not in NOT_PEERS), key=self.rate)

    @property
    def ratios(self) -> list[float]:
        """Ours over the fastest peer, round by round."""
        pairs = zip(self.rates[OURS], self.rates[self.peer], strict=False)
        return [ours / theirs for ours, theirs in pairs]

    @property
    def ratio(self) -> float:
        """That of the medians."""
        return self.rate(OURS) / self.rate(self.peer)


def measure(cell: Cell, taking: Sequence[Contestant], *, budget_s: float) -> Outcome | None:
    """Let engines that have loaded the cell take turns, for about `budget_s`.

    None where our file or every peer is missing. The first round only warms up; it tells what is
    written, and how many rounds there is time for.
    """
    engines = {each.name: each for each in taking}
    if OURS not in engines or engines.keys() <= set(NOT_PEERS):
        return None
    sources = draw_sources(cell.size.vocab_size, cell.batch)
    first = {name: each.run(sources, cell.limit) for name, each in engines.items()}
    round_s = sum(seconds + SETTLE_S for seconds, _ in first.values())
    rounds = max(FEWEST, min(MOST, int(budget_s / round_s)))
    rates: dict[str, list[float]] = {name: [] for name in engines}
    for _ in range(rounds):
        for name, each in engines.items():
            seconds, targets = each.run(sources, cell.limit)
            rates[name].append(sum(map(len, targets)) / seconds)
    return Outcome(cell, rates, {name: targets for name, (_, targets) in first.items()})


def best_threads(outcomes: Sequence[Outcome]) -> Outcome:
    """Of outcomes that differ in threads, take every engine where it was fastest."""
    names = outcomes[0].rates
    best = {name: max(outcomes, key=lambda each: each.rate(name)).rates[name] for name in names}
    return Outcome(outcomes[0].cell, best)
