"""A model into the floating-point operations of one forward pass; a multiply-add counts as 2.

Matrix products count, and nothing else does: norms, softmax and activations are far below 1 % at
usual widths. Attention computes every pair of positions and masks what may not be seen, so masks
save nothing. A training step takes three times as many: the backward pass has two products for
each one of the forward pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, assert_never

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.data import Lengths
from builder.blueprint.model import Learned, Positions
from builder.blueprint.plan.amount import NONE, Amount
from builder.blueprint.plan.blocks import Block

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
        source=_reached(lengths.source, encoder.positions[0]),
        target=_reached(lengths.target, decoder.positions[0]),
    )


def _reached(length: int, positions: Positions) -> int:
    return min(length, positions.max_length) if isinstance(positions, Learned) else length


def count_flops(blocks: Iterable[Block], lengths: Lengths) -> dict[str, Flops]:
    """The operations of every block that multiplies matrices, over all its layers, by its name.

    Sequences are as long as `lengths`.
    """
    counted = {block.name: _flops(block, lengths) * block.uses for block in blocks}
    return {name: flops for name, flops in counted.items() if flops.source or flops.target}


def _flops(block: Block, lengths: Lengths) -> Flops:
    """The operations of one layer of the block."""
    matrices = {
        name: Amount.of(shape) * 2
        for name, shape in block.shapes.items()
        if len(shape) > 1 and name != "relative_keys"
    }
    match block.kind:
        case "table" | "vectors":
            return Flops()
        case "cross-attention":
            read = matrices["k_proj"] + matrices["v_proj"]
            written = matrices["q_proj"] + matrices["out_proj"]
            return Flops(read, written + _attended(block, lengths.source))
        case "self-attention":
            length = lengths.source if block.side == "source" else lengths.target
            each = sum(matrices.values(), _attended(block, length))
        case "feed-forward" | "projection":
            each = sum(matrices.values(), Amount())
        case unreachable:
            assert_never(unreachable)
    return Flops(source=each) if block.side == "source" else Flops(target=each)


def _attended(block: Block, keys: int) -> Amount:
    """The scores and the mixture of one query, over all heads.

    A query meets each vector of a distance once, however many keys stand there.
    """
    scores, mixture = block.shapes["q_proj"][1], block.shapes["out_proj"][0]
    distances, _ = block.shapes.get("relative_keys", (0, 0))
    return Amount.of((scores, 2 * keys + 2 * int(distances))) + Amount.of((mixture, 2 * keys))
