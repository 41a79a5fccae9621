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
from builder.blueprint.section import at_layer
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
    kept = _positionwise(stack, model.d_model) * time
    for layer in range(stack.layers):
        heads = _Heads.of(stack, stack.attention, model.d_model, layer)
        # Where no weights are kept, the mask of its padding is, as numbers.
        mask = 0 if heads.copies else time * time
        kept += heads.kept(time, time) + mask
    return kept


def _kept_by_decoder(model: Model, batch: Batch) -> int:
    """Numbers for one pair."""
    stack, time = model.decoder, batch.target
    kept = _positionwise(stack, model.d_model) * time
    for layer in range(stack.layers):
        kept += _Heads.of(stack, stack.attention, model.d_model, layer).kept(time, time)
        cross = _Heads.of(stack, stack.cross_attention, model.d_model, layer)
        kept += cross.kept(time, batch.source)
    return kept


@dataclass(frozen=True)
class _Heads:
    """The heads of one attention."""

    count: int
    width: int
    """Of a query and a value together."""
    copies: int
    """How many copies of the attention weights are kept."""

    @classmethod
    def of(cls, stack: Stack, attention: Attention, d_model: int, layer: int) -> _Heads:
        """With dropout the weights, what was dropped and what was left are kept.

        Without it none are, unless the heads of values have a width of their own, which torch's
        fused attention cannot take.
        """
        d_k, d_v = head_widths(attention, d_model, layer)
        copies = 3 if stack.dropout.attention else 0 if d_k == d_v else 1
        return cls(at_layer(attention.heads, layer), d_k + d_v, copies)

    def kept(self, query: int, key: int) -> int:
        """Queries, keys, values, the mixture, and the weights of every head or their sums."""
        return self.count * (self.width * (query + key) + query * (self.copies * key or 1))


def _positionwise(stack: Encoder | Decoder, d_model: int) -> int:
    """Numbers for each position that do not depend on the length: norms, sums, feed-forward."""
    dropped = bool(stack.dropout.residual)
    norm = 2 if isinstance(stack.norm, RMSNorm) else 1
    sublayers = 3 if isinstance(stack, Decoder) else 2
    wide = KEPT_BY_ACTIVATION[stack.feed_forward.activation][bool(stack.dropout.activation)]
    d_ff = sum(at_layer(stack.feed_forward.d_ff, layer) for layer in range(stack.layers))
    narrow = stack.layers * sublayers * (norm + 1 + dropped) * d_model
    ends = bool(stack.dropout.embedding) + (norm if stack.norm.placement == "pre" else 0) + 1
    return narrow + wide * d_ff + ends * d_model
