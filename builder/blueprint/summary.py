"""A blueprint's choices in a line of words."""

from __future__ import annotations

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.model import Attention, Decoder, Encoder, Learned, Mask, Window


def summarise(blueprint: Blueprint) -> str:
    """The model in a few words, for `check`."""
    encoder, decoder = blueprint.model.encoder, blueprint.model.decoder
    return (
        f"d_model={blueprint.model.d_model}, {encoder.layers}+{decoder.layers} layers, "
        f"{encoder.attention.heads} heads"
    )


def describe_stack(stack: Encoder | Decoder) -> str:
    """Every choice of one stack."""
    layers = "1 layer" if stack.layers == 1 else f"{stack.layers} layers"
    parts = [layers, _attention(stack.attention)]
    if isinstance(stack, Decoder) and stack.cross_attention != stack.attention:
        parts.append(f"cross-attention {_attention(stack.cross_attention)}")
    reach = f" to {stack.positions.max_length:,}" if isinstance(stack.positions, Learned) else ""
    return ", ".join(
        [
            *parts,
            f"d_ff {stack.feed_forward.d_ff} {stack.feed_forward.activation}",
            f"positions {stack.positions.kind}{reach}",
            f"mask {_mask(stack.mask)}",
            f"{stack.norm.kind} {stack.norm.placement}",
        ]
    )


def _attention(attention: Attention) -> str:
    return f"{attention.heads} heads (d_k {attention.d_k}, d_v {attention.d_v})"


def _mask(mask: Mask) -> str:
    if isinstance(mask, Window):
        return f"window {mask.before} before, {mask.after} after"
    return mask.kind
