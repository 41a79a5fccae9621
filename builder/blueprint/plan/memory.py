"""A model into the memory that its training takes, by what autograd keeps in float32.

Two figures stand for what lives only while a step runs. *Activations* are the tensors that the
forward pass keeps for the backward pass, as torch does on a CPU, and the output of the decoder.
*Logits* are what the loss holds while it works on one part of the batch: logits, log-probabilities
and a gradient. With weights and gradients they make the peak that a step reaches; the program
itself, the data and an allocator's slack come on top. The batch is full and its pairs are as long
as they may be.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from builder.blueprint import model as blueprint
from builder.blueprint.data import Lengths
from builder.blueprint.plan.amount import Amount, Rows
from builder.blueprint.section import at_layer
from builder.blueprint.training import Training

FLOAT32 = 4
"""Bytes; as many truth values take the room of a number."""
INDEX = 2
"""Numbers whose room an index takes."""
MOMENTS = 2
"""Numbers that Adam keeps for each parameter: the means of its gradient and of the square."""
ROWS_AT_ONCE, LOGITS_AT_ONCE = 512, 4_000_000
"""The loss works on so many target tokens at once, or more if they stay below so many logits."""
LOSS_COPIES = 3
"""Arrays of the logits' size that the loss holds at once."""
KEPT_BY_ACTIVATION = {
    "relu": (1, 3),
    **dict.fromkeys(("gelu", "gelu_tanh", "silu", "relu_squared"), (2, 3)),
    "reglu": (3, 4),
    **dict.fromkeys(("swiglu", "geglu", "geglu_tanh"), (4, 5)),
}
"""Vectors of width d_ff kept for each position, without dropout and with."""

EitherStack = blueprint.Encoder | blueprint.Decoder


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
    model: blueprint.Model, parameters: Amount, target_rows: Rows, batch: Batch
) -> TrainingMemory:
    """Estimate the bytes that training takes at its peak."""
    weights = parameters * FLOAT32
    kept = sum(_kept_by_stack(model, stack, batch) for stack in (model.encoder, model.decoder))
    return TrainingMemory(
        weights=weights,
        gradients=weights,
        moments=weights * MOMENTS,
        activations=Amount(kept * FLOAT32),
        logits=Amount.of((_rows_at_once(target_rows, batch), target_rows))
        * (LOSS_COPIES * FLOAT32),
    )


def _rows_at_once(target_rows: Rows, batch: Batch) -> int:
    """Target tokens that the loss works on at once; as few as may be while V is unknown."""
    known = LOGITS_AT_ONCE // target_rows if isinstance(target_rows, int) else 0
    return min(batch.pairs * batch.target, max(ROWS_AT_ONCE, known))


def _kept_by_stack(model: blueprint.Model, stack: EitherStack, batch: Batch) -> int:
    """Numbers for the whole batch."""
    pairs, source, target = batch.pairs, batch.source, batch.target
    # Masks hide no padding in targets, so that all pairs have the same.
    time, masks = (source, pairs) if isinstance(stack, blueprint.Encoder) else (target, 1)
    kept = pairs * time * _kept_by_position(model, stack)
    shared: dict[object, int] = {}
    for layer in range(stack.layers):
        widths = blueprint.head_widths(stack.attention, model.d_model, layer)
        positions = at_layer(stack.positions, layer)
        heads = _Heads(stack, layer, stack.attention, positions, *widths)
        kept += heads.kept(pairs, time, time, masks * time**2)
        shared |= heads.shared(time, masks * time**2)
        if isinstance(stack, blueprint.Decoder):
            widths = blueprint.head_widths(stack.cross_attention, model.d_model, layer)
            heads = _Heads(stack, layer, stack.cross_attention, None, *widths)
            kept += heads.kept(pairs, target, source, pairs * source)
    return kept + sum(shared.values())


def _kept_by_position(model: blueprint.Model, stack: EitherStack) -> int:
    """Numbers for each position, however many there are: its id, norms, sums, feed-forward."""
    dropout, d_model = stack.dropout, model.d_model
    # What comes in, then a mean and a deviation, or a root mean square and what it has scaled.
    norm = 2 * d_model + 1 if isinstance(stack.norm, blueprint.RMSNorm) else d_model + 2
    norms = blueprint.norms_per_sublayer(stack.norm) * norm
    sublayers = stack.layers * (3 if isinstance(stack, blueprint.Decoder) else 2)
    wide = KEPT_BY_ACTIVATION[stack.feed_forward.activation][bool(dropout.activation)]
    d_ff = sum(at_layer(stack.feed_forward.d_ff, layer) for layer in range(stack.layers))
    ends = (model.embeddings.norm + blueprint.has_final(stack.norm)) * norm
    ends += (1 + bool(dropout.embedding)) * d_model + INDEX
    return sublayers * (norms + (1 + bool(dropout.residual)) * d_model) + wide * d_ff + ends


@dataclass(frozen=True)
class _Heads:
    """The heads of one attention of one layer, and the positions that they may know of."""

    stack: EitherStack
    layer: int
    attention: blueprint.Attention
    positions: blueprint.Positions | None
    d_k: int
    d_v: int

    @property
    def fused(self) -> bool:
        """Whether torch's fused attention takes them, which keeps sums in place of weights."""
        stepwise = self.stack.dropout.attention or self.attention.softcap is not None
        trained = isinstance(self.positions, blueprint.RelativeBias | blueprint.RelativeKeys)
        return not (stepwise or trained or self.d_k != self.d_v)

    def kept(self, pairs: int, query: int, key: int, mask: int) -> int:
        """Numbers for the whole batch; `mask` is the size of the mask for all its pairs."""
        attention, positions = self.attention, self.positions
        capped, count = attention.softcap is not None, at_layer(attention.heads, self.layer)
        queries = pairs * query * count
        own_keys = pairs * key * blueprint.kv_heads(attention, self.layer)
        # Torch's own steps copy keys and values for the heads that share them.
        keys = own_keys if self.fused or capped else pairs * key * count
        kept = (queries + keys) * (self.d_k + self.d_v)
        if attention.qk_norm:
            kept += (queries + own_keys) * (2 * self.d_k + 1)
        if isinstance(positions, blueprint.ALiBi | blueprint.RelativeBias):
            mask = 0  # shared, as a part of the bias
        if self.fused:
            # Queries that were turned or normed lie head by head, and so does a second mixture.
            apart = attention.qk_norm or isinstance(positions, blueprint.Rotary)
            return kept + queries * (1 + (apart and count > 1) * self.d_v) + mask
        kept += queries * key * (1 + capped + 2 * bool(self.stack.dropout.attention))
        if isinstance(positions, blueprint.RelativeKeys):
            ways = 2 if isinstance(self.stack, blueprint.Encoder) else 1
            kept += queries * (self.d_k + ways * positions.max_distance + 1)
        elif not capped:
            return kept
        return kept + mask // FLOAT32  # as truth values, which the fused attention turns to numbers

    def shared(self, time: int, mask: int) -> dict[object, int]:
        """Numbers for the whole batch that layers of one mask and one order keep once."""
        positions, heads = self.positions, at_layer(self.attention.heads, self.layer)
        order, pattern = (positions, heads, self.d_k), at_layer(self.stack.mask, self.layer)
        match positions:
            case blueprint.Rotary(fraction=fraction):
                return {order: time * round(fraction * self.d_k)}
            case blueprint.ALiBi() if self.fused:
                return {(order, pattern): mask * heads}
            case blueprint.RelativeBias(max_distance=far):
                return {order: INDEX * (time**2 + 2 * far + 1), (order, pattern): mask // FLOAT32}
            case blueprint.RelativeKeys():
                layer = None if self.stack.share_layers else self.layer
                return {(order, layer): INDEX * time**2}
        return {}
