"""The log of a run into the time that another blueprint's training would take."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.data import Lengths
from builder.blueprint.plan.blocks import blocks_of, vocabularies
from builder.blueprint.plan.flops import Flops, count_flops
from builder.blueprint.training import Training
from builder.errors import RunError, printable


@dataclass(frozen=True)
class Pace:
    """How fast a run trained, and on what."""

    blueprint: Blueprint
    tokens_per_second: float
    """Target tokens, the median over the lines of the log; validations do not count."""
    source_length: int
    """Tokens of a source, on average."""
    target_length: int
    """Tokens of a target, on average."""
    target_rows: int

    @classmethod
    def of(cls, blueprint: Blueprint, log: Path) -> Pace:
        """Read the log of the run that trained `blueprint`.

        Raises:
            RunError: There is no log, or it does not reach the first report of progress.
        """
        entries = _entries(log)
        data = next((one for one in reversed(entries) if one.get("event") == "data"), None)
        speeds = [one["tokens_per_second"] for one in entries if one.get("event") == "progress"]
        if data is None or not speeds:
            raise RunError(f"{printable(log)}: no progress in it yet: nothing to estimate from")
        tokens, pairs = data["train"]["tokens"], data["train"]["pairs"]
        return cls(
            blueprint=blueprint,
            tokens_per_second=median(speeds),
            source_length=max(1, round(tokens["source"] / pairs)),
            target_length=max(1, round(tokens["target"] / pairs)),
            target_rows=data["vocabulary"]["target"],
        )

    def flops(self, blueprint: Blueprint) -> float:
        """Operations of a model for each target token, with what goes to its share of a source."""
        lengths = Lengths(source=self.source_length, target=self.target_length)
        total = sum(count_flops(blocks_of(blueprint), lengths).values(), Flops())
        rows = {"V": self.target_rows, "V_target": self.target_rows}
        share = self.source_length / self.target_length
        return total.source.at(rows) * share + total.target.at(rows)


@dataclass(frozen=True)
class Duration:
    """An estimate of how long a training takes."""

    flops_ratio: float
    """Operations for each target token, over those of the run that is compared with."""
    tokens_per_second: float
    """Target tokens."""
    updates: float | None
    """None where the blueprint sets no limit."""
    seconds: float | None
    assumed: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**asdict(self), "assumed": list(self.assumed)}


def estimate_duration(blueprint: Blueprint, pace: Pace) -> Duration:
    """Scale the pace of a run by the operations of each target token."""
    _, rows = vocabularies(blueprint)
    ratio = pace.flops(blueprint) / pace.flops(pace.blueprint)
    speed = pace.tokens_per_second / ratio
    size = [f"its vocabulary of {pace.target_rows:,} rows"] if isinstance(rows, str) else []
    assumed = (
        "that run's machine, threads and share of padding",
        *size,
        "speed in inverse proportion to FLOPs",
        f"pairs as long as there ({pace.source_length} + {pace.target_length} tokens on average)",
        "full batches",
        "no time for validations and checkpoints, and no early end",
    )
    training = blueprint.training or Training()
    limits = []
    if training.steps is not None:
        limits.append(training.steps * training.batch_tokens / speed)
    if training.minutes is not None:
        limits.append(training.minutes * 60)
    seconds = min(limits, default=None)
    updates = None if seconds is None else seconds * speed / training.batch_tokens
    return Duration(ratio, speed, updates, seconds, assumed)


def _entries(log: Path) -> list[dict[str, Any]]:
    """Every whole line; the last one may still be in the writing."""
    if not log.is_file():
        raise RunError(f"{printable(log)}: no such file: the run has no log")
    entries = []
    for line in log.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue
    return entries
