"""Conflicts within the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.checks.finding import Finding, at
from builder.blueprint.model import (
    Attention,
    Decoder,
    Encoder,
    Learned,
    Model,
    Rotary,
    Sinusoidal,
    Window,
)
from builder.blueprint.plan import make_plan

PARAMETER_LIMIT = 100_000_000_000
"""More than any machine that this tool is meant for can train."""

UNTIED = "write `model.embeddings.tie: target_output`, or `none`"
"""What two vocabularies allow."""
ACROSS = ("source_target", "source_output", "all")
"""The ties that need one vocabulary on both sides."""


def heads_share_d_model(blueprint: Blueprint) -> Iterator[Finding]:
    """Heads divide d_model evenly wherever the width of a head is not given."""
    d_model = blueprint.model.d_model
    for path, attention in _attentions(blueprint.model):
        for index, heads in enumerate(attention.heads):
            if attention.d_k is None and d_model % heads:
                message = (
                    f"{heads} heads cannot share d_model={d_model} evenly; nearest heads: "
                    f"{_nearest_divisors(d_model, heads)}; nearest d_model: "
                    f"{_nearest_multiples(heads, d_model)}; or give `d_k`"
                )
                own = (*at(f"{path}.heads"), index)
                yield Finding((at("model.d_model"), own, at(f"{path}.d_k")), message)


def rotary_turns_pairs(blueprint: Blueprint) -> Iterator[Finding]:
    """Rotary positions turn pairs of values, so a head's width must be even."""
    model = blueprint.model
    for side, stack in _stacks(model):
        for layer in range(stack.layers):
            heads = layer % len(stack.attention.heads)
            positions = layer % len(stack.positions)
            rotary = isinstance(stack.positions[positions], Rotary)
            if rotary and _is_odd(stack.attention, heads, model.d_model):
                path = f"model.{side}"
                inputs = (
                    (*at(f"{path}.attention.heads"), heads),
                    at(f"{path}.attention.d_k"),
                    (*at(f"{path}.positions"), positions, "kind"),
                    at("model.d_model"),
                )
                message = (
                    "rotary positions turn pairs of values, so the width of a head is even, but "
                    f"{_odd_width(stack.attention, heads, model.d_model)}"
                )
                yield Finding(inputs, message)


def lists_fit_the_layers(blueprint: Blueprint) -> Iterator[Finding]:
    """A list that is cycled over the layers has no value that none of them uses."""
    for side, stack in _stacks(blueprint.model):
        values: dict[str, Sequence[object]] = {
            "attention.heads": stack.attention.heads,
            "feed_forward.d_ff": stack.feed_forward.d_ff,
            "positions": stack.positions,
            "mask": stack.mask,
        }
        if isinstance(stack, Decoder):
            values["cross_attention.heads"] = stack.cross_attention.heads
        for key, listed in values.items():
            if len(listed) > stack.layers:
                message = (
                    f"{len(listed)} values for {stack.layers} "
                    f"{'layer' if stack.layers == 1 else 'layers'} of the {side}: a list is cycled "
                    f"over the layers; at most {stack.layers}"
                )
                paths = (f"model.{side}.{key}", f"model.{side}.layers")
                yield Finding(tuple(map(at, paths)), message)


def added_positions_stand_alone(blueprint: Blueprint) -> Iterator[Finding]:
    """What is added to the embeddings is added once, whatever the layers do."""
    for side, stack in _stacks(blueprint.model):
        for index, positions in enumerate(stack.positions):
            if isinstance(positions, Sinusoidal | Learned) and len(stack.positions) > 1:
                message = (
                    f"{positions.kind} positions are added to the embeddings, before the first "
                    "layer: they cannot differ by layer; allowed in a list: rotary, none"
                )
                yield Finding(((*at(f"model.{side}.positions"), index, "kind"),), message)


def tied_vocabularies_are_one(blueprint: Blueprint) -> Iterator[Finding]:
    """Matrices that are shared across the sides have the same rows."""
    tie, sizes = blueprint.model.embeddings.tie, blueprint.model.vocab_size
    if tie in ACROSS and sizes is not None and sizes.source != sizes.target:
        message = (
            f"`tie: {tie}` needs one vocabulary, but source has {sizes.source:,} rows and target "
            f"{sizes.target:,}; {UNTIED}"
        )
        paths = ("embeddings.tie", "vocab_size.source", "vocab_size.target")
        yield Finding(tuple(at(f"model.{path}") for path in paths), message)


def tied_tokenizers_are_shared(blueprint: Blueprint) -> Iterator[Finding]:
    """Matrices that are shared across the sides need a tokenizer that is, too."""
    tie, tokenizer = blueprint.model.embeddings.tie, blueprint.tokenizer
    if tokenizer is not None and not tokenizer.shared and tie in ACROSS:
        message = (
            f"`tie: {tie}` needs one vocabulary, but the tokenizers of source and target are not "
            f"shared; {UNTIED}"
        )
        if tokenizer.source == tokenizer.target:
            message += "; these are alike and can be one: write `tokenizer.shared: true`"
        inputs = (at("model.embeddings.tie"), at("tokenizer.shared"), at("tokenizer.source"))
        yield Finding((*inputs, at("tokenizer.target")), message)


def decoder_never_looks_ahead(blueprint: Blueprint) -> Iterator[Finding]:
    """A decoder that sees later target tokens would learn to copy them."""
    for index, mask in enumerate(blueprint.model.decoder.mask):
        if isinstance(mask, Window) and mask.after:
            message = (
                f"found {mask.after}; in a decoder only 0 is allowed: a position that sees later "
                "ones sees the labels that it shall predict"
            )
            yield Finding(((*at("model.decoder.mask"), index, "after"),), message)


def positions_reach_far_enough(blueprint: Blueprint) -> Iterator[Finding]:
    """Learned positions exist for the longest sequence that is trained on."""
    if blueprint.data is None:
        return
    lengths = blueprint.data.max_length
    for side, stack in _stacks(blueprint.model):
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


def size_is_sane(blueprint: Blueprint) -> Iterator[Finding]:
    """A slip of three zeros is told before anything is allocated."""
    plan = make_plan(blueprint)
    if plan.parameters.fixed > PARAMETER_LIMIT:
        message = f"this model would have {plan.parameters} parameters; at most {PARAMETER_LIMIT:,}"
        paths = ["model.d_model", "model.vocab_size.source", "model.vocab_size.target"]
        for side in ("encoder", "decoder"):
            paths += [f"model.{side}.layers", f"model.{side}.feed_forward.d_ff"]
            paths += [f"model.{side}.positions.max_length"]
        for path, _ in _attentions(blueprint.model):
            paths += [f"{path}.{key}" for key in ("heads", "d_k", "d_v")]
        yield Finding(tuple(map(at, paths)), message)


MODEL_CHECKS = (
    heads_share_d_model,
    rotary_turns_pairs,
    lists_fit_the_layers,
    added_positions_stand_alone,
    tied_vocabularies_are_one,
    tied_tokenizers_are_shared,
    decoder_never_looks_ahead,
    positions_reach_far_enough,
    size_is_sane,
)


def _stacks(model: Model) -> tuple[tuple[str, Encoder | Decoder], ...]:
    return ("encoder", model.encoder), ("decoder", model.decoder)


def _attentions(model: Model) -> Iterator[tuple[str, Attention]]:
    yield "model.encoder.attention", model.encoder.attention
    yield "model.decoder.attention", model.decoder.attention
    yield "model.decoder.cross_attention", model.decoder.cross_attention


def _is_odd(attention: Attention, index: int, d_model: int) -> bool:
    """Whether the width of a head is odd; false where the heads cannot share d_model at all."""
    heads = attention.heads[index]
    shared = d_model // heads if d_model % heads == 0 else 0
    return (attention.d_k or shared) % 2 == 1


def _odd_width(attention: Attention, index: int, d_model: int) -> str:
    """Where an odd width comes from, and the nearest values that give an even one."""
    d_k, heads = attention.d_k, attention.heads[index]
    if d_k is not None:
        return f"d_k={d_k} is odd; nearest: {_nearest_multiples(2, d_k)}"
    found = f"d_model={d_model} and heads={heads} make d_k={d_model // heads}; "
    if d_model % 2 == 0:
        found += f"nearest heads: {_nearest_divisors(d_model // 2, heads)}; "
    return f"{found}nearest d_model: {_nearest_multiples(2 * heads, d_model)}; or give `d_k`"


def _nearest_multiples(step: int, number: int) -> str:
    """The multiples of `step` below and above `number`."""
    below = number - number % step
    return ", ".join(str(found) for found in (below, below + step) if found)


def _nearest_divisors(number: int, heads: int) -> str:
    """The head counts below and above `heads` that divide `number`."""
    divisors = [count for count in range(1, min(number, 1_000) + 1) if number % count == 0]
    below = [count for count in divisors if count < heads][-1:]
    above = [count for count in divisors if count > heads][:1]
    return ", ".join(map(str, below + above))
