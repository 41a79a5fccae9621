from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from builder.blueprint.blueprint import Blueprint
from builder.training import loop
from builder.training.train import train
from builder.training.validation import Measured
from builder.weights import weights_of

Load = Callable[..., Blueprint]
Content = Callable[[Path], dict[str, Any]]


def test_equal_bit_by_bit_to_a_training_without_a_stop(
    load: Load, tmp_path: Path, new_watch: Callable[..., Any], content: Content
) -> None:
    straight, again, parted = (new_watch() for _ in range(3))
    one = train(load(), tmp_path / "one", watch=straight)
    two = train(load(), tmp_path / "two", watch=again)
    three = train(load("training.steps=10"), tmp_path / "three", watch=parted)
    assert parted.updates[-1].epoch % 1 != 0  # in the middle of an epoch
    train(load(), three, resume=True, watch=parted)
    other = train(load("training.seed=2"), tmp_path / "other")

    assert content(two) == content(one)
    assert content(three) == content(one)
    assert content(other) != content(one)
    assert [update.rate for update in parted.updates] == [u.rate for u in straight.updates]
    assert [u.step for u in parted.updates] == [u.step for u in straight.updates]
    assert parted.validations == straight.validations
    assert parted.updates[-1].elapsed_s > parted.updates[9].elapsed_s


def by_chance(salt: str) -> Callable[..., Measured]:
    """A stand-in for measuring: each set of weights has a value of its own."""

    def measure(model: nn.Module, *_: Any, **__: Any) -> Measured:
        content = hashlib.sha256(salt.encode())
        for weight in weights_of(model).values():
            content.update(weight.numpy().tobytes())
        return Measured({"loss": content.digest()[0] / 64, "perplexity": 1.0}, ())

    return measure


@pytest.mark.parametrize("salt", "abc")
@pytest.mark.parametrize("stops", [(20,), (7, 8, 22), (10, 33)])
def test_equal_to_a_straight_one_wherever_it_ended_before(
    load: Load,
    tmp_path: Path,
    new_watch: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    content: Content,
    stops: tuple[int, ...],
    salt: str,
) -> None:
    monkeypatch.setattr(loop, "measure", by_chance(salt))
    options = ("training.checkpoint={every: 5, keep: 2, average: 2}",)
    options += ("training.validate={every: 5, patience: 3}",)
    once, last = new_watch(), new_watch()
    straight = train(load(*options, "training.steps=37"), tmp_path / "straight", watch=once)

    run = tmp_path / "run"
    for stop in stops:
        train(load(*options, f"training.steps={stop}"), run, resume=run.exists())
    run = train(load(*options, "training.steps=37"), run, resume=True, watch=last)

    assert content(run) == content(straight)
    assert not last.ends or last.ends[0].best == once.ends[0].best


def test_what_an_end_kept_goes_back_before_more_is_learned(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = iter([3.0, 2.0, 1.0, 1.5, 1.8])  # the third is the average's
    monkeypatch.setattr(
        loop, "measure", lambda *_, **__: Measured({"loss": next(values), "perplexity": 1.0}, ())
    )
    options = ("training.checkpoint={every: 10, keep: 2, average: 2}",)
    run = train(load(*options), tmp_path / "run")
    averaged = (run / "weights.safetensors").read_bytes()

    train(load(*options, "training.steps=30"), run, resume=True)

    # 1.5 beats the 2.0 of update 20, as it would have without the stop
    state = json.loads((run / "checkpoints" / "step-30" / "state.json").read_text())
    assert (state["best"], state["waited"]) == (1.5, 0)
    assert (run / "weights.safetensors").read_bytes() != averaged
