"""Conflicts between the layers of a stack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.checks.finding import Finding, at
from builder.blueprint.model import (
    Decoder,
    Encoder,
    Learned,
    Model,
    Prefix,
    Sinusoidal,
    Window,
)

INSIDE = "rotary, alibi, relative_bias, relative_keys, none"
"""The positions that work inside attention."""


def stacks_of(model: Model) -> tuple[tuple[str, Encoder | Decoder], ...]:
    """Both stacks with their names."""
    return ("encoder", model.encoder), ("decoder", model.decoder)


def lists_fit_the_layers(blueprint: Blueprint) -> Iterator[Finding]:
    """A list that is cycled over the layers has no value that none of them uses."""
    for side, stack in stacks_of(blueprint.model):
        for key, listed in _listed(stack):
            if len(listed) > stack.layers:
                message = (
                    f"{len(listed)} values for {stack.layers} "
                    f"{'layer' if stack.layers == 1 else 'layers'} of the {side}: a list is cycled "
                    f"over the layers; at most {stack.layers}"
                )
                paths = (f"model.{side}.{key}", f"model.{side}.layers")
                yield Finding(tuple(map(at, paths)), message)


def shared_layers_are_alike(blueprint: Blueprint) -> Iterator[Finding]:
    """Where layers share their weights, nothing differs by layer."""
    for side, stack in stacks_of(blueprint.model):
        for key, listed in _listed(stack):
            if stack.share_layers and len(listed) > 1:
                message = (
                    f"the layers of the {side} share their weights (`share_layers: true`), so one "
                    f"value holds for all; found a list of {len(listed)}"
                )
                paths = (f"model.{side}.{key}", f"model.{side}.share_layers")
                yield Finding(tuple(map(at, paths)), message)


def added_positions_stand_alone(blueprint: Blueprint) -> Iterator[Finding]:
    """What is added to the embeddings is added once, whatever the layers do."""
    for side, stack in stacks_of(blueprint.model):
        for index, positions in enumerate(stack.positions):
            if isinstance(positions, Sinusoidal | Learned) and len(stack.positions) > 1:
                message = (
                    f"{positions.kind} positions are added to the embeddings, before the first "
                    f"layer: they cannot differ by layer; allowed in a list: {INSIDE}"
                )
                yield Finding(((*at(f"model.{side}.positions"), index, "kind"),), message)


def waves_have_frequencies(blueprint: Blueprint) -> Iterator[Finding]:
    """The frequencies of fairseq are spread between two waves at least."""
    d_model = blueprint.model.d_model
    for side, stack in stacks_of(blueprint.model):
        waves = stack.positions[0]
        if isinstance(waves, Sinusoidal) and waves.frequencies == "fairseq" and d_model < 4:
            message = f"fairseq's frequencies need d_model of at least 4; found {d_model}"
            own = (*at(f"model.{side}.positions"), 0, "frequencies")
            yield Finding((at("model.d_model"), own), message)


def decoder_never_looks_ahead(blueprint: Blueprint) -> Iterator[Finding]:
    """A decoder that sees later target tokens would learn to copy them."""
    for index, mask in enumerate(blueprint.model.decoder.mask):
        if isinstance(mask, Window) and mask.after:
            message = (
                f"found {mask.after}; in a decoder only 0 is allowed: a position that sees later "
                "ones sees the labels that it shall predict"
            )
            yield Finding(((*at("model.decoder.mask"), index, "after"),), message)
        if isinstance(mask, Prefix):
            message = (
                "a prefix is seen in both directions, and in a decoder that would show the labels "
                "that it shall predict; allowed: full, causal, window, block"
            )
            yield Finding(((*at("model.decoder.mask"), index, "kind"),), message)


def positions_reach_far_enough(blueprint: Blueprint) -> Iterator[Finding]:
    """Learned positions exist for the longest sequence that is trained on."""
    if blueprint.data is None:
        return
    lengths = blueprint.data.max_length
    for side, stack in stacks_of(blueprint.model):
        text, longest = (
            ("source", lengths.source) if side == "encoder" else ("target", lengths.target)
        )
        positions = stack.positions[0]
        if isinstance(positions, Learned) and positions.max_length < longest:
            message = (
                f"learned positions end at {positions.max_length:,} tokens, but "
                f"data.max_length allows {longest:,}; nearest: positions.max_length={longest:,} "
                f"or data.max_length={positions.max_length:,}"
            )
            path = at(f"model.{side}.positions.max_length")
            yield Finding((path, at(f"data.max_length.{text}")), message)


STACK_CHECKS = (
    lists_fit_the_layers,
    shared_layers_are_alike,
    added_positions_stand_alone,
    waves_have_frequencies,
    decoder_never_looks_ahead,
    positions_reach_far_enough,
)


def _listed(stack: Encoder | Decoder) -> Iterator[tuple[str, Sequence[object]]]:
    """Everything that may differ by layer, by its path in the stack."""
    yield "attention.heads", stack.attention.heads
    yield "feed_forward.d_ff", stack.feed_forward.d_ff
    yield "positions", stack.positions
    yield "mask", stack.mask
    if isinstance(stack, Decoder):
        yield "cross_attention.heads", stack.cross_attention.heads
