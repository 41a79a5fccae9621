"""The time of training is that of another run, scaled by operations."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.plan.duration import Duration, Pace, estimate_duration
from builder.errors import RunError

Parse = Callable[..., Blueprint]

SMALL = """
model: {d_model: 16, layers: 2, feed_forward: {d_ff: 32}, attention: {heads: 2}}
tokenizer: char
training: {batch_tokens: 500, steps: 40}
"""
DATA = {
    "event": "data",
    "train": {"pairs": 10, "tokens": {"source": 160, "target": 114}},
    "vocabulary": {"source": 30, "target": 30},
}


def write_log(path: Path, *speeds: float) -> Path:
    progress = [{"event": "progress", "tokens_per_second": speed} for speed in speeds]
    lines = [json.dumps(entry) for entry in ({"event": "environment"}, DATA, *progress)]
    path.write_text("\n".join([*lines, '{"event": "progr']), encoding="utf-8")
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_log(tmp_path / "log.jsonl", 50.0, 1000.0, 2000.0, 900.0, 1100.0)


def estimate(parse: Parse, log: Path, *changes: str) -> Duration:
    """The time for `SMALL`, changed, from the log of a run of `SMALL`."""
    run = parse(SMALL, "model.vocab_size=30")
    return estimate_duration(parse(SMALL, *changes), Pace.of(run, log))


def test_the_same_blueprint_takes_as_long_as_the_run(parse: Parse, log: Path) -> None:
    same = estimate(parse, log)

    assert same.flops_ratio == pytest.approx(1.0)
    assert same.tokens_per_second == pytest.approx(1000.0)  # the median: a slow start counts little
    assert same.seconds == pytest.approx(40 * 500 / 1000)
    assert same.updates == pytest.approx(40)
    assert any("16 + 11 tokens" in each for each in same.assumed)
    assert any("vocabulary of 30 rows" in each for each in same.assumed)


def test_time_grows_with_operations(parse: Parse, log: Path) -> None:
    deeper = estimate(parse, log, "model.layers=4", "model.vocab_size=30")

    assert 1.7 < deeper.flops_ratio < 2
    assert deeper.seconds == pytest.approx(20 * deeper.flops_ratio)
    assert not any("vocabulary" in each for each in deeper.assumed)


def test_the_first_limit_ends_the_training(parse: Parse, log: Path) -> None:
    short = estimate(parse, log, "training.minutes=0.1")
    assert (short.seconds, short.updates) == (pytest.approx(6), pytest.approx(12))

    only = estimate(parse, log, "training={minutes: 0.5, steps: null}")
    assert (only.seconds, only.updates) == (pytest.approx(30), pytest.approx(60))


def test_without_a_limit_only_the_speed_is_known(parse: Parse, log: Path) -> None:
    speed = estimate_duration(
        parse(SMALL.partition("training")[0]), Pace.of(parse(SMALL, "model.vocab_size=30"), log)
    )
    assert (speed.seconds, speed.updates) == (None, None)
    assert speed.tokens_per_second == pytest.approx(1000)


def test_a_log_without_progress_is_refused(parse: Parse, tmp_path: Path) -> None:
    run = parse(SMALL)
    with pytest.raises(RunError, match="no such file"):
        Pace.of(run, tmp_path / "log.jsonl")
    with pytest.raises(RunError, match="no progress"):
        Pace.of(run, write_log(tmp_path / "log.jsonl"))
