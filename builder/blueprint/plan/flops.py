"""A model into the floating-point operations of one forward pass; a multiply-add counts as 2.

Matrix products count, and nothing else does: norms, softmax and activations are far below 1 % at
usual widths. Attention computes every pair of positions and masks what may not be seen, so masks
save nothing. A training step takes three times as many: the backward pass has two products for
each one of the forward pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.data import Lengths
from builder.blueprint.model import Attention, FeedForward, Learned, Model, head_widths
from builder.blueprint.plan.amount import NONE, Amount, Rows

TRAINING = 3
"""Operations of a training step for each of the forward pass."""


@dataclass(frozen=True)
class Flops:
    """Operations of a forward pass, by the token that causes them."""

    source: Amount = NONE
    """For each source token: the encoder, and the keys and values of cross-attention."""
    target: Amount = NONE
    """For each target token: the rest of the decoder, and the output projection."""

    def __add__(self, other: Flops) -> Flops:
        return Flops(self.source + other.source, self.target + other.target)

    def __mul__(self, factor: int) -> Flops:
        return Flops(self.source * factor, self.target * factor)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "per_source_token": self.source.as_dict(),
            "per_target_token": self.target.as_dict(),
        }


def planned_lengths(blueprint: Blueprint) -> Lengths:
    """The longest sequences that training sees: `data.max_length`, or its default without data."""
    lengths = blueprint.data.max_length if blueprint.data is not None else Lengths()
    encoder, decoder = blueprint.model.encoder, blueprint.model.decoder
    return Lengths(
        source=_reached(lengths.source, encoder.positions),
        target=_reached(lengths.target, decoder.positions),
    )


def _reached(length: int, positions: object) -> int:
    return min(length, positions.max_length) if isinstance(positions, Learned) else length


def count_flops(model: Model, target_rows: Rows, lengths: Lengths) -> dict[str, Flops]:
    """The operations of every block that multiplies matrices, over all its layers, by its name.

    Sequences are as long as `lengths`.
    """
    return {name: flops * layers for name, layers, flops in _by_block(model, target_rows, lengths)}


def _by_block(
    model: Model, target_rows: Rows, lengths: Lengths
) -> Iterator[tuple[str, int, Flops]]:
    encoder, decoder, d_model = model.encoder, model.decoder, model.d_model
    source, target = lengths.source, lengths.target
    read = _self_attention(encoder.attention, d_model, source)
    yield "encoder attention", encoder.layers, Flops(source=read)
    read = _feed_forward(encoder.feed_forward, d_model)
    yield "encoder feed-forward", encoder.layers, Flops(source=read)
    written = _self_attention(decoder.attention, d_model, target)
    yield "decoder attention", decoder.layers, Flops(target=written)
    cross = _cross_attention(decoder.cross_attention, d_model, source)
    yield "decoder cross-attention", decoder.layers, cross
    written = _feed_forward(decoder.feed_forward, d_model)
    yield "decoder feed-forward", decoder.layers, Flops(target=written)
    yield "output projection", 1, Flops(target=Amount.of((d_model, target_rows)) * 2)


def _self_attention(attention: Attention, d_model: int, length: int) -> Amount:
    cross = _cross_attention(attention, d_model, length)
    return cross.source + cross.target


def _cross_attention(attention: Attention, d_model: int, source: int) -> Flops:
    """Keys and values for each source token; query, scores, mixture and output for each target."""
    width = attention.heads * sum(head_widths(attention, d_model))
    projections = Amount(2 * d_model * width)
    return Flops(source=projections, target=projections + Amount(2 * width * source))


def _feed_forward(feed_forward: FeedForward, d_model: int) -> Amount:
    matrices = 3 if feed_forward.activation == "swiglu" else 2
    return Amount(2 * matrices * d_model * feed_forward.d_ff)
