"""What was measured as a table for people and as figures for programs."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from engines.agreement import Agreement
from engines.contest import OURS, Outcome
from frame import print_table

Threads = int | str


def figures(
    outcome: Outcome,
    agreement: dict[str, Agreement],
    share: float | None,
    *,
    threads: Threads | None = None,
) -> dict[str, Any]:
    """One entry of `cells`; `threads` stands for those of the cell where it is given."""
    ratios = outcome.ratios
    return {
        **outcome.cell.figures(),
        "threads": threads or outcome.cell.threads,
        "ratio": round(outcome.ratio, 3),
        "ratio_low": round(min(ratios), 3),
        "ratio_high": round(max(ratios), 3),
        "peer": outcome.peer,
        "tokens_per_second": {name: round(outcome.rate(name), 1) for name in outcome.rates},
        "rounds": len(outcome.rates[OURS]),
        "of_limit": None if share is None else round(share, 3),
        "equal": {name: each.equal for name, each in agreement.items()},
        "near_ties": {name: each.near_ties for name, each in agreement.items()},
    }


def print_cells(entries: Sequence[dict[str, Any]]) -> None:
    """Print one line for each entry."""
    names = list(dict.fromkeys(name for each in entries for name in each["tokens_per_second"]))
    shown = ("model", "precision", "search", "lengths", "threads", "batch")
    print("tokens per second; ratio: ours to the fastest peer, of medians, and from round to round")
    print_table(
        [*shown, *names, "ratio", "from", "to", "of limit", "equal"],
        [
            [
                *(each[key] for key in shown),
                *(_rate(each["tokens_per_second"].get(name)) for name in names),
                *(f"{each[key]:.2f}" for key in ("ratio", "ratio_low", "ratio_high")),
                "" if each["of_limit"] is None else f"{each['of_limit']:.2f}",
                _agreed(each),
            ]
            for each in entries
        ],
    )


def summary(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The geometric mean of all ratios, that of each precision and search, and the worst cell."""
    worst = min(entries, key=lambda each: each["ratio"])
    groups: dict[str, list[float]] = {}
    for each in entries:
        groups.setdefault(f"{each['precision']} {each['search']}", []).append(each["ratio"])
    return {
        "geomean": _mean([each["ratio"] for each in entries]),
        "geomean_by_kind": {name: _mean(ratios) for name, ratios in groups.items()},
        "worst": {key: worst[key] for key in (*_KEYS, "ratio", "peer")},
        "below_1_1": sum(each["ratio"] < 1.1 for each in entries),
    }


_KEYS = ("model", "batch", "search", "precision", "threads", "lengths")


def _mean(ratios: Sequence[float]) -> float:
    return round(statistics.geometric_mean(ratios), 3)


def _rate(rate: float | None) -> str:
    return "" if rate is None else f"{rate:.0f}"


def _agreed(entry: dict[str, Any]) -> str:
    """How many outputs the peers have in common with ours, the fewest of all."""
    both = [entry["equal"][name] + entry["near_ties"][name] for name in entry["equal"]]
    return f"{min(both)}/{entry['batch']}" if both else ""
