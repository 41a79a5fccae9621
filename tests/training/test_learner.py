from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from builder.blueprint import training as blueprint_training
from builder.blueprint.model import Model
from builder.blueprint.training import Training
from builder.data.store import PairStore, TokenStore
from builder.errors import TrainingFailure
from builder.training import learner as learner_module
from builder.training.learner import Learner
from builder.weights import weights_of

STACK = {"layers": 1, "attention": {"heads": 2}, "feed_forward": {"d_ff": 32}}


def learner(dropout: float = 0.0, **training: object) -> Learner:
    rates = dict.fromkeys(("residual", "embedding", "attention", "activation"), dropout)
    stack = STACK | {"dropout": rates}
    model = {"d_model": 16, "vocab_size": {"source": 11, "target": 11}, "encoder": stack}
    model |= {"decoder": stack | {"cross_attention": {"heads": 2}}}
    schedule = {"kind": "constant", "learning_rate": 0.01}
    sections = {"steps": 1, "schedule": schedule} | training
    return Learner(Model.model_validate(model), Training.model_validate(sections))


def store(lengths: list[int]) -> TokenStore:
    draw = np.random.default_rng(3)
    rows = [[*draw.integers(4, 11, size=length - 1), 2] for length in lengths]
    return TokenStore(np.concatenate(rows).astype(np.uint16), np.cumsum([0, *lengths]))


PAIRS = PairStore(store([3, 9, 4, 4]), store([9, 3, 5, 2]))
ALL = np.arange(4)


def test_microbatches_make_the_same_update() -> None:
    whole, parted = learner(), learner(microbatch_tokens=9)
    for one in (whole, parted):
        one.model.double()

    first, second = whole.update(1, PAIRS, ALL), parted.update(1, PAIRS, ALL)

    assert first.loss == pytest.approx(second.loss, rel=1e-10)
    assert first.gradient_norm == pytest.approx(second.gradient_norm, rel=1e-10)
    assert second.positions < first.positions
    for name, weight in weights_of(whole.model).items():
        torch.testing.assert_close(weights_of(parted.model)[name], weight, rtol=1e-8, atol=1e-10)


def test_long_sources_are_cut_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = PairStore(store([60] * 40), store([2] * 40))
    free, bounded = learner(batch_tokens=80), learner(batch_tokens=80)
    seen = []
    honest = learner_module.add_gradients

    def add_gradients(model: Any, source_ids: Any, *rest: Any, **options: Any) -> float:
        seen.append(source_ids.numel())
        return honest(model, source_ids, *rest, **options)

    monkeypatch.setattr(learner_module, "add_gradients", add_gradients)
    for one in (free, bounded):
        one.model.double()
    first = bounded.update(1, pairs, np.arange(40))
    assert max(seen) <= 4 * 80 < sum(seen)
    monkeypatch.setattr(blueprint_training, "LONGER_SIDE", 1000)
    second = free.update(1, pairs, np.arange(40))

    assert seen[-1] == 60 * 40
    assert first.loss == pytest.approx(second.loss, rel=1e-10)
    for name, weight in weights_of(free.model).items():
        torch.testing.assert_close(weights_of(bounded.model)[name], weight, rtol=1e-8, atol=1e-10)


def test_a_batch_of_like_sides_is_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(learner_module, "tensors", lambda _, part: seen.append(part) or 1 / 0)

    with pytest.raises(ZeroDivisionError):
        learner(batch_tokens=19).update(1, PAIRS, ALL)
    assert [len(part) for part in seen] == [4]


def test_counts_what_is_real() -> None:
    update = learner().update(1, PAIRS, ALL)

    assert (update.tokens, update.real, update.positions) == (19, 39, 4 * 9 + 4 * 9)


def test_clip_limits_the_norm_that_is_told() -> None:
    free, clipped = learner(), learner(clip=0.01)
    norm = free.update(1, PAIRS, ALL).gradient_norm

    assert clipped.update(1, PAIRS, ALL).gradient_norm == pytest.approx(norm, rel=1e-6)
    held = [parameter.grad for parameter in clipped.model.parameters()]
    assert torch.nn.utils.get_total_norm(held).item() == pytest.approx(0.01, rel=1e-3)


def test_seed_decides_weights_and_dropout() -> None:
    losses = []
    for options in ({}, {}, {"seed": 2}):
        one = learner(0.3, **options)
        losses.append([one.update(step, PAIRS, ALL).loss for step in (1, 2, 3)])

    assert losses[0] == losses[1]
    assert losses[0] != losses[2]


def test_a_gradient_that_is_not_finite_leaves_the_weights() -> None:
    broken = learner()
    broken.model.encoder.layers[0].feed_forward.in_proj.bias.register_hook(
        lambda gradient: gradient * float("nan")
    )
    before = {name: weight.clone() for name, weight in weights_of(broken.model).items()}

    with pytest.raises(TrainingFailure, match="update 7"):
        broken.update(7, PAIRS, ALL)
    assert all(torch.equal(before[name], now) for name, now in weights_of(broken.model).items())
