"""A network and its optimiser: one update after the other."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import nn

from builder.blueprint.model import Model
from builder.blueprint.training import Training
from builder.compile import compile_model
from builder.data.batches import Indices, split_microbatches
from builder.data.store import PairStore
from builder.errors import TrainingFailure
from builder.nn.transformer import Transformer
from builder.training.batch import tensors
from builder.training.loss import add_gradients
from builder.training.schedule import learning_rate

LARGEST_LOSS = 700.0
"""Above it the perplexity is no number any more: the training has diverged."""


@dataclass(frozen=True)
class Update:
    """What one update did."""

    loss: float
    """Smoothed, the mean over target tokens."""
    rate: float
    gradient_norm: float
    """Before clipping."""
    tokens: int
    """Target tokens, without padding."""
    real: int
    """Source and target tokens, without padding."""
    positions: int
    """Source and target positions, with padding."""


class Learner:
    """Owns the weights in training, and the moments of their gradients."""

    def __init__(self, model: Model, training: Training) -> None:
        torch.manual_seed(training.seed)
        self.training = training
        self.model: Transformer = compile_model(model).train()
        self._d_model = model.d_model
        adam = training.optimizer
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), betas=adam.betas, eps=adam.eps, fused=True
        )

    def update(self, step: int, store: PairStore, indices: Indices) -> Update:
        """Make update `step`, counted from 1, from the pairs `indices`.

        Raises:
            TrainingFailure: The loss or the gradient is not finite; the weights are as before.
        """
        tokens = int(store.target.lengths[indices].sum())
        loss, positions = 0.0, 0
        self.optimizer.zero_grad(set_to_none=True)
        for part in self._parts(store, indices):
            source_ids, target_ids = tensors(store, part)
            loss += add_gradients(
                self.model,
                source_ids,
                target_ids,
                smoothing=self.training.label_smoothing,
                tokens=tokens,
            )
            positions += source_ids.numel() + target_ids.numel()
        norm = self._clip()
        if not (loss < LARGEST_LOSS and math.isfinite(norm)):
            raise TrainingFailure(_diverged(step, loss, norm))
        rate = learning_rate(self.training.schedule, step, self._d_model)
        self.optimizer.param_groups[0]["lr"] = rate
        self.optimizer.step()
        real = tokens + int(store.source.lengths[indices].sum())
        return Update(loss, rate, norm, tokens, real, positions)

    def _parts(self, store: PairStore, indices: Indices) -> list[Indices]:
        limit = self.training.forward_positions
        return split_microbatches(indices, store.target.lengths, store.source.lengths, limit)

    def _clip(self) -> float:
        """Limit the norm of the gradient; return what it was."""
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        norm = nn.utils.get_total_norm(gradients)
        if self.training.clip is not None:
            nn.utils.clip_grads_with_norm_(self.model.parameters(), self.training.clip, norm)
        return norm.item()


def _diverged(step: int, loss: float, norm: float) -> str:
    return (
        f"update {step}: the training has diverged: loss {loss:.6g}, gradient norm {norm:.6g}; "
        "try a lower rate or `factor`, a longer `warmup`, or `clip`"
    )
