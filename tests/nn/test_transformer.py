"""What holds for every variant: no leak, a cache that changes nothing, sane odd rows."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor

from builder.blueprint.model import Model
from builder.compile import compile_model
from builder.nn.transformer import BOS_ID, PAD_ID, Transformer

assert_close = partial(torch.testing.assert_close, rtol=1e-10, atol=1e-11)
SOURCE = torch.tensor([[5, 6, 7, 8, 9, 10, 2]])
TARGET = torch.tensor([[BOS_ID, 4, 9, 9, 3, 11, 12, 5]])
OTHER = torch.tensor([[3, 12, 2]])


def wider(ids: Tensor, length: int, rows: Tensor | None = None) -> Tensor:
    """Pad `ids` to `length`, with `rows` below them."""
    result = torch.full((1 + (rows is not None), length), PAD_ID)
    result[0, : ids.shape[1]] = ids[0]
    if rows is not None:
        result[1, : rows.shape[1]] = rows[0]
    return result


def loss(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    """The cross-entropy of the real tokens of `target` that follow BOS."""
    logits = model(source, target)[:, :-1, 2:]
    wanted = target[:, 1:]
    real = wanted != PAD_ID
    return torch.nn.functional.cross_entropy(logits[real], wanted[real] - 2, reduction="sum")


def gradients(model: Transformer, value: Tensor) -> dict[str, Tensor]:
    names, parameters = zip(*model.named_parameters(), strict=True)
    found = torch.autograd.grad(value, parameters, allow_unused=True, materialize_grads=True)
    return dict(zip(names, found, strict=True))


def test_padding_changes_neither_logits_nor_gradients(model: Transformer) -> None:
    alone = model(SOURCE, TARGET)
    padded = model(wider(SOURCE, 23, OTHER), wider(TARGET, 10, OTHER))

    assert_close(padded[:1, :8], alone)
    together = gradients(model, loss(model, wider(SOURCE, 23), wider(TARGET, 30)))
    assert_close(together, gradients(model, loss(model, SOURCE, TARGET)))


@torch.no_grad()
def test_what_stands_on_padding_is_never_seen(model: Transformer) -> None:
    """The pad rows of the tables hold something else: as if the padded slots held it."""
    source, target = wider(SOURCE, 10, OTHER), wider(TARGET, 9, TARGET[:, :4])
    before = model(source, target)

    model.source_embedding.tokens.weight[PAD_ID] = 1e4
    model.target_embedding.tokens.weight[PAD_ID] = -1e4
    model.output[PAD_ID] = torch.randn(16)

    real = target != PAD_ID
    assert torch.equal(model(source, target)[real], before[real])


def test_the_pad_row_gets_no_gradient(model: Transformer) -> None:
    source, target = wider(SOURCE, 10, OTHER), wider(TARGET, 9, TARGET[:, :4])
    loss(model, source, target).backward()

    for table in (model.source_embedding.tokens.weight, model.target_embedding.tokens.weight):
        assert table.grad is not None
        assert (table.grad[PAD_ID] == 0).all()
        assert table.grad[9].abs().sum() > 0
    assert model.output.grad is not None
    assert (model.output.grad[PAD_ID] == 0).all()


@torch.no_grad()
def test_the_future_is_never_seen(model: Transformer) -> None:
    before = model(SOURCE, TARGET)

    for time in range(1, 8):
        changed = TARGET.clone()
        changed[0, time] = 6
        after = model(SOURCE, changed)
        assert torch.equal(after[:, :time], before[:, :time])
        assert not torch.equal(after[:, time], before[:, time])


@torch.no_grad()
def test_a_step_with_a_cache_scores_what_the_whole_does(model: Transformer) -> None:
    source = wider(SOURCE, 9, OTHER)
    target = torch.randint(2, 13, (2, 20))
    target[:, 0] = BOS_ID
    whole = model(source, target)

    memory, caches = model.remember(source), model.empty_caches(source)
    for time in range(20):
        logits, caches = model.step(
            target[:, time], torch.tensor(time), memory=memory, caches=caches
        )
        assert_close(logits, whole[:, time])


def test_an_empty_source_harms_no_one(model: Transformer) -> None:
    """Batches never hold one; should it happen, it stays in its row."""
    target = TARGET.repeat(2, 1)
    source = torch.cat([SOURCE, torch.full_like(SOURCE, PAD_ID)])

    logits = model(source, target)

    assert_close(logits[:1], model(SOURCE, TARGET))
    assert torch.isfinite(logits[:, :, 2:]).all()
    found = gradients(model, loss(model, source, target))
    assert all(torch.isfinite(gradient).all() for gradient in found.values())
    step, _ = model.step(
        target[:, 0],
        torch.tensor(0),
        memory=model.remember(source),
        caches=model.empty_caches(source),
    )
    assert torch.isfinite(step[:, 2:]).all()


@torch.no_grad()
def test_padding_and_bos_are_never_likely(model: Transformer) -> None:
    logits = model(SOURCE, TARGET)

    assert (logits[..., [PAD_ID, BOS_ID]] == float("-inf")).all()
    assert torch.isfinite(logits[..., 2:]).all()


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float16, 0.04), (torch.bfloat16, 0.3)])
@torch.no_grad()
def test_half_precision_stays_near(
    variant: Model, model: Transformer, dtype: torch.dtype, tolerance: float
) -> None:
    half = compile_model(variant).eval()
    half.load_state_dict(model.state_dict())
    half.to(dtype)
    source, target = wider(SOURCE, 9, OTHER), wider(TARGET, 9, TARGET[:, :4])
    real = target != PAD_ID

    logits = half(source, target)
    step, _ = half.step(
        target[:, 0],
        torch.tensor(0),
        memory=half.remember(source),
        caches=half.empty_caches(source),
    )

    assert logits.dtype == step.dtype == dtype
    expected = model(source, target)[real]
    assert ((logits[real].double() - expected)[:, 2:].abs() < tolerance).all()
    assert ((step.double() - model(source, target)[:, 0])[:, 2:].abs() < tolerance).all()
