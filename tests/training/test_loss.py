from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from builder.nn.transformer import PAD_ID, Transformer
from builder.training import loss
from builder.training.loss import add_gradients, plain_loss, smoothed_cross_entropy

SOURCES = [[5, 6, 7, 2], [4, 2], [8, 9, 10, 4, 5, 2]]
TARGETS = [[6, 5, 2], [4, 5, 6, 7, 8, 9, 10, 4, 2], [7, 2]]


def pad(rows: list[list[int]], length: int) -> Tensor:
    return torch.tensor([row + [PAD_ID] * (length - len(row)) for row in rows])


def gradients(network: Transformer, batches: list[tuple[Tensor, Tensor]], tokens: int) -> Tensor:
    network.zero_grad()
    for source_ids, target_ids in batches:
        add_gradients(network, source_ids, target_ids, smoothing=0.1, tokens=tokens)
    return torch.cat([parameter.grad.flatten() for parameter in network.parameters()])


def assert_same(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.4])
def test_smoothing_is_the_cross_entropy_with_a_spread_target(smoothing: float) -> None:
    draw = np.random.default_rng(0)
    logits = draw.normal(size=(6, 7)) * 3
    logits[:, :2] = -np.inf
    targets = np.array([2, 6, 3, 3, 4, 5])

    # the definition: a distribution over the five tokens that may be written
    wanted = np.full((6, 5), smoothing / 5)
    wanted[np.arange(6), targets - 2] += 1 - smoothing
    shares = np.exp(logits[:, 2:]) / np.exp(logits[:, 2:]).sum(1, keepdims=True)
    expected = -(wanted * np.log(shares)).sum()
    # and the closed formula that the docstring gives
    row = np.arange(6)
    closed = np.log(np.exp(logits).sum(1)) - (1 - smoothing) * logits[row, targets]
    closed -= smoothing * logits[:, 2:].mean(1)

    found = smoothed_cross_entropy(torch.from_numpy(logits), torch.from_numpy(targets), smoothing)
    assert found.item() == pytest.approx(expected, rel=1e-10)
    assert found.item() == pytest.approx(closed.sum(), rel=1e-10)


def test_gradient_is_the_one_of_the_whole_network(network: Transformer) -> None:
    source_ids, target_ids = pad(SOURCES, 6), pad(TARGETS, 9)
    found = gradients(network, [(source_ids, target_ids)], tokens=14)

    network.zero_grad()
    inputs = torch.cat([torch.ones(3, 1, dtype=torch.int64), target_ids[:, :-1]], dim=1)
    logits = network(source_ids, inputs)
    log_probs = (logits - logits.logsumexp(-1, keepdim=True))[..., 2:]
    real = target_ids != PAD_ID
    chosen = log_probs.gather(-1, (target_ids - 2).clamp(min=0)[..., None])[..., 0]
    rows = -(0.9 * chosen + 0.1 * log_probs.mean(-1))
    (rows[real].sum() / real.sum()).backward()
    expected = torch.cat([parameter.grad.flatten() for parameter in network.parameters()])

    assert_same(found, expected)


def test_parts_of_an_update_add_up_to_the_whole(network: Transformer) -> None:
    whole = gradients(network, [(pad(SOURCES, 6), pad(TARGETS, 9))], tokens=14)
    parts = [
        (pad([source], len(source)), pad([target], len(target)))
        for source, target in zip(SOURCES, TARGETS, strict=True)
    ]

    assert_same(gradients(network, parts, tokens=14), whole)


def test_a_part_without_targets_adds_nothing(network: Transformer) -> None:
    batch = (pad(SOURCES, 6), pad(TARGETS, 9))
    empty = (pad([[5, 2]], 2), pad([[]], 3))
    alone = gradients(network, [batch], tokens=14)

    together = gradients(network, [empty, batch, empty], tokens=14)

    assert torch.equal(together, alone)
    assert add_gradients(network, *empty, smoothing=0.1, tokens=14) == 0.0


def test_padding_changes_neither_loss_nor_gradient(network: Transformer) -> None:
    tight, loose = (pad(SOURCES, 6), pad(TARGETS, 9)), (pad(SOURCES, 30), pad(TARGETS, 50))

    assert_same(gradients(network, [loose], tokens=14), gradients(network, [tight], tokens=14))
    assert plain_loss(network, *loose) == pytest.approx(plain_loss(network, *tight), rel=1e-10)


def test_projecting_in_parts_changes_nothing(
    network: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = (pad(SOURCES, 6), pad(TARGETS, 9))
    at_once = gradients(network, [batch], tokens=14)
    plain = plain_loss(network, *batch)
    rows = []
    honest = network.project
    monkeypatch.setattr(network, "project", lambda part: rows.append(len(part)) or honest(part))
    monkeypatch.setattr(loss, "ROWS_AT_ONCE", 3)
    monkeypatch.setattr(loss, "LOGITS_AT_ONCE", 1)

    assert_same(gradients(network, [batch], tokens=14), at_once)
    assert plain_loss(network, *batch) == pytest.approx(plain, rel=1e-10)
    assert rows == [3, 3, 3, 3, 2] * 2


def test_padding_takes_no_gradient(network: Transformer) -> None:
    gradients(network, [(pad(SOURCES, 6), pad(TARGETS, 9))], tokens=14)

    assert not network.source_embedding.tokens.weight.grad[PAD_ID].any()
