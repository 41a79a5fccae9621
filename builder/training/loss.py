"""Batches of ids into a loss and its gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float, Int
from torch import Tensor

from builder.nn.transformer import BOS_ID, PAD_ID, Transformer

NEVER_WRITTEN = 2
"""Ids 0 and 1, pad and BOS, have the logit −inf: no probability, and no part in the smoothing."""
ROWS_AT_ONCE, LOGITS_AT_ONCE = 512, 4_000_000
"""A batch is projected in parts of so many rows, or more if they stay below so many logits."""


def smoothed_cross_entropy(
    logits: Float[Tensor, "rows vocab"], targets: Int[Tensor, " rows"], smoothing: float
) -> Float[Tensor, ""]:
    """Sum the cross-entropy over rows, a share ε of each target spread over all V − 2 tokens.

    Row by row: logsumexp(z) − (1 − ε) · z[y] − ε · mean(z[2:]), with ε = `smoothing`, z the logits
    and y the target, which is never pad or BOS (Vaswani et al., 2017, section 5.4). With ε = 0 its
    mean is the logarithm of the perplexity.
    """
    return F.cross_entropy(
        logits[:, NEVER_WRITTEN:],
        targets - NEVER_WRITTEN,
        reduction="sum",
        label_smoothing=smoothing,
    )


def hidden_rows(
    model: Transformer,
    source_ids: Int[Tensor, "batch source"],
    target_ids: Int[Tensor, "batch target"],
) -> tuple[Float[Tensor, "rows d_model"], Int[Tensor, " rows"]]:
    """Run the network up to its output projection; keep the rows of real targets, and these.

    `target_ids` end with EOS and hold no BOS.
    """
    begin = target_ids.new_full((len(target_ids), 1), BOS_ID)
    hidden = model.hidden(source_ids, torch.cat([begin, target_ids[:, :-1]], dim=1)).flatten(0, 1)
    targets = target_ids.flatten()
    rows = targets.nonzero().squeeze(1)
    if len(rows) == len(targets):
        return hidden, targets
    return hidden.index_select(0, rows), targets[rows]


def add_gradients(
    model: Transformer,
    source_ids: Int[Tensor, "batch source"],
    target_ids: Int[Tensor, "batch target"],
    *,
    smoothing: float,
    tokens: int,
) -> float:
    """Add the gradients of the smoothed loss, divided by `tokens`; return that loss.

    With the target tokens of a whole update as `tokens`, its parts add up to the mean over the
    update, however it is cut. The logits are made and turned into gradients in parts.
    """
    if not bool((target_ids != PAD_ID).any()):
        return 0.0
    hidden, targets = hidden_rows(model, source_ids, target_ids)
    total = 0.0
    gradients: list[Any] = []
    for part, wanted in _parts(model, hidden.detach(), targets):
        part.requires_grad_()
        loss = smoothed_cross_entropy(model.project(part), wanted, smoothing) / tokens
        loss.backward()
        gradients.append(part.grad)
        total += loss.item()
    hidden.backward(torch.cat(gradients))
    return total


@torch.no_grad()
def plain_loss(
    model: Transformer,
    source_ids: Int[Tensor, "batch source"],
    target_ids: Int[Tensor, "batch target"],
) -> float:
    """Return the sum of the unsmoothed loss over real targets."""
    hidden, targets = hidden_rows(model, source_ids, target_ids)
    return math.fsum(
        smoothed_cross_entropy(model.project(part), wanted, 0.0).item()
        for part, wanted in _parts(model, hidden, targets)
    )


def _parts(
    model: Transformer, hidden: Float[Tensor, "rows d_model"], targets: Int[Tensor, " rows"]
) -> Iterator[tuple[Tensor, Tensor]]:
    """Cut rows into parts small enough that the logits of each may exist at one time."""
    at_once = max(ROWS_AT_ONCE, LOGITS_AT_ONCE // len(model.output))
    return zip(hidden.split(at_once), targets.split(at_once), strict=True)
