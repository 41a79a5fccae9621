"""A model into the memory that its training takes, by what autograd keeps in float32.

Two figures stand for what lives only while a step runs. *Activations* are the tensors that the
forward pass keeps for the backward pass, and the output of the decoder. *Logits* are what the loss
holds while it works on one part of the batch: logits, log-probabilities and a gradient. With
weights and gradients they make the peak that a step reaches; the program itself, the data and an
allocator's slack come on top. The batch is full and its pairs are as long as they may be.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from builder.blueprint.data import Lengths
from builder.blueprint.model import Attention, Decoder, Encoder, Model, RMSNorm, Stack, head_widths
from builder.blueprint.plan.amount import Amount, Rows
from builder.blueprint.training import Training

FLOAT32 = 4
"""Bytes."""
MOMENTS = 2
"""Numbers that Adam keeps for each parameter: the means of its gradient and of the square."""
ROWS_AT_ONCE, LOGITS_AT_ONCE = 512, 4_000_000
"""The loss works on so many target tokens at once, or more if they stay below so many logits."""
LOSS_COPIES = 3
"""Arrays of the logits' size that the loss holds at once."""
KEPT_BY_ACTIVATION = {"relu": (1, 3), "gelu": (2, 3), "swiglu": (4, 5)}
"""Vectors of width d_ff kept for each position, without dropout and with."""


@dataclass(frozen=True)
class Batch:
    """What one forward pass of training reads."""

    pairs: int
    source: int
    """Tokens of each source."""
    target: int
    """Tokens of each target."""


@dataclass(frozen=True)
class TrainingMemory:
    """Bytes, by what they hold."""

    weights: Amount
    gradients: Amount
    moments: Amount
    """Of the optimiser."""
    activations: Amount
    logits: Amount

    @property
    def total(self) -> Amount:
        """All of them together."""
        return sum(self.parts().values(), Amount())

    def parts(self) -> dict[str, Amount]:
        """Each of them by its name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        parts = {name: part.as_dict() for name, part in self.parts().items()}
        return {**parts, "total": self.total.as_dict()}


def planned_batch(training: Training, lengths: Lengths) -> Batch:
    """The batch, or the part of it that one forward pass reads, at its widest."""
    source, target = lengths.source, lengths.target
    pairs = min(training.batch_tokens // target, training.forward_positions // max(source, target))
    return Batch(max(1, pairs), source, target)


def training_memory(
    model: Model, parameters: Amount, target_rows: Rows, batch: Batch
) -> TrainingMemory:
    """Estimate the bytes that training takes at its peak."""
    weights = parameters * FLOAT32
    kept = _kept_by_encoder(model, batch) + _kept_by_decoder(model, batch)
    return TrainingMemory(
        weights=weights,
        gradients=weights,
        moments=weights * MOMENTS,
        activations=Amount(kept * batch.pairs * FLOAT32),
        logits=Amount.of((_rows_at_once(target_rows, batch), target_rows))
        * (LOSS_COPIES * FLOAT32),
    )


def _rows_at_once(target_rows: Rows, batch: Batch) -> int:
    """Target tokens that the loss works on at once; as few as may be while V is unknown."""
    known = LOGITS_AT_ONCE // target_rows if isinstance(target_rows, int) else 0
    return min(batch.pairs * batch.target, max(ROWS_AT_ONCE, known))


def _kept_by_encoder(model: Model, batch: Batch) -> int:
    """Numbers for one pair."""
    stack, time = model.encoder, batch.source
    attention = _attention(stack, stack.attention, model.d_model, (time, time))
    # Where no weights are kept, the mask of its padding is, as numbers.
    mask = 0 if _keeps_weights(stack, stack.attention, model.d_model) else time * time
    return stack.layers * (attention + mask) + _positionwise(stack, model.d_model) * time


def _kept_by_decoder(model: Model, batch: Batch) -> int:
    """Numbers for one pair."""
    stack, time = model.decoder, batch.target
    attention = _attention(stack, stack.attention, model.d_model, (time, time))
    cross = _attention(stack, stack.cross_attention, model.d_model, (time, batch.source))
    return stack.layers * (attention + cross) + _positionwise(stack, model.d_model) * time


def _attention(stack: Stack, attention: Attention, d_model: int, lengths: tuple[int, int]) -> int:
    """Queries, keys, values, the mixture, and the weights of every head or their sums."""
    query, key = lengths
    vectors = attention.heads * sum(head_widths(attention, d_model)) * (query + key)
    weights = _keeps_weights(stack, attention, d_model) * key or 1
    return vectors + attention.heads * query * weights


def _keeps_weights(stack: Stack, attention: Attention, d_model: int) -> int:
    """How many copies of the attention weights are kept.

    With dropout the weights, what was dropped and what was left; without it none, unless the
    heads of values have a width of their own, which torch's fused attention cannot take.
    """
    if stack.dropout.attention:
        return 3
    d_k, d_v = head_widths(attention, d_model)
    return 0 if d_k == d_v else 1


def _positionwise(stack: Encoder | Decoder, d_model: int) -> int:
    """Numbers for each position that do not depend on the length: norms, sums, feed-forward."""
    dropped = bool(stack.dropout.residual)
    norm = 2 if isinstance(stack.norm, RMSNorm) else 1
    sublayers = 3 if isinstance(stack, Decoder) else 2
    wide = KEPT_BY_ACTIVATION[stack.feed_forward.activation][bool(stack.dropout.activation)]
    layer = sublayers * (norm + 1 + dropped) * d_model + wide * stack.feed_forward.d_ff
    ends = bool(stack.dropout.embedding) + (norm if stack.norm.placement == "pre" else 0) + 1
    return stack.layers * layer + ends * d_model
