"""Conflicts within the model."""

from __future__ import annotations

from collections.abc import Iterator

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.checks.finding import Finding, at
from builder.blueprint.model import Attention, Learned, Model, Rotary, Stack, Window
from builder.blueprint.plan import make_plan

PARAMETER_LIMIT = 100_000_000_000
"""More than any machine that this tool is meant for can train."""

ACROSS = ("source_target", "source_output", "all")
"""The ties that need one vocabulary on both sides."""


def heads_share_d_model(blueprint: Blueprint) -> Iterator[Finding]:
    """Heads divide d_model evenly wherever the width of a head is not given."""
    d_model = blueprint.model.d_model
    for path, attention in _attentions(blueprint.model):
        heads = attention.heads
        if attention.d_k is None and d_model % heads:
            message = (
                f"{heads} heads cannot share d_model={d_model} evenly; nearest heads: "
                f"{_nearest_divisors(d_model, heads)}; nearest d_model: "
                f"{_nearest_multiples(heads, d_model)}; or give `d_k`"
            )
            inputs = (at("model.d_model"), at(f"{path}.heads"), at(f"{path}.d_k"))
            yield Finding(inputs, message)


def rotary_turns_pairs(blueprint: Blueprint) -> Iterator[Finding]:
    """Rotary positions turn pairs of values, so a head's width must be even."""
    model = blueprint.model
    for side, stack in _stacks(model):
        attention = stack.attention
        if isinstance(stack.positions, Rotary) and _is_odd(attention, model.d_model):
            path = f"model.{side}"
            inputs = (
                *(at(f"{path}.attention.{key}") for key in ("heads", "d_k")),
                at(f"{path}.positions.kind"),
                at("model.d_model"),
            )
            message = (
                "rotary positions turn pairs of values, so the width of a head is even, but "
                f"{_odd_width(attention, model.d_model)}"
            )
            yield Finding(inputs, message)


def tied_vocabularies_are_one(blueprint: Blueprint) -> Iterator[Finding]:
    """Matrices that are shared across the sides have the same rows."""
    tie, sizes = blueprint.model.embeddings.tie, blueprint.model.vocab_size
    if tie in ACROSS and sizes is not None and sizes.source != sizes.target:
        message = (
            f"`tie: {tie}` needs one vocabulary, but source has {sizes.source:,} rows and target "
            f"{sizes.target:,}; allowed with two: none, target_output"
        )
        paths = ("embeddings.tie", "vocab_size.source", "vocab_size.target")
        yield Finding(tuple(at(f"model.{path}") for path in paths), message)


def tied_tokenizers_are_shared(blueprint: Blueprint) -> Iterator[Finding]:
    """Matrices that are shared across the sides need a tokenizer that is, too."""
    tie, tokenizer = blueprint.model.embeddings.tie, blueprint.tokenizer
    if tokenizer is not None and not tokenizer.shared and tie in ACROSS:
        message = (
            f"`tie: {tie}` needs one vocabulary, but the tokenizers of source and target are not "
            "shared; allowed with two: none, target_output"
        )
        if tokenizer.source == tokenizer.target:
            message += "; these are alike and can be one: write `tokenizer.shared: true`"
        inputs = (at("model.embeddings.tie"), at("tokenizer.shared"), at("tokenizer.source"))
        yield Finding((*inputs, at("tokenizer.target")), message)


def decoder_never_looks_ahead(blueprint: Blueprint) -> Iterator[Finding]:
    """A decoder that sees later target tokens would learn to copy them."""
    mask = blueprint.model.decoder.mask
    if isinstance(mask, Window) and mask.after:
        message = (
            f"found {mask.after}; in a decoder only 0 is allowed: a position that sees later "
            "ones sees the labels that it shall predict"
        )
        yield Finding((at("model.decoder.mask.after"),), message)


def positions_reach_far_enough(blueprint: Blueprint) -> Iterator[Finding]:
    """Learned positions exist for the longest sequence that is trained on."""
    if blueprint.data is None:
        return
    lengths = blueprint.data.max_length
    for side, stack in _stacks(blueprint.model):
        text, longest = (
            ("source", lengths.source) if side == "encoder" else ("target", lengths.target)
        )
        if isinstance(stack.positions, Learned) and stack.positions.max_length < longest:
            message = (
                f"learned positions end at {stack.positions.max_length:,} tokens, but "
                f"data.max_length allows {longest:,}; nearest: positions.max_length={longest:,} "
                f"or data.max_length={stack.positions.max_length:,}"
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
    tied_vocabularies_are_one,
    tied_tokenizers_are_shared,
    decoder_never_looks_ahead,
    positions_reach_far_enough,
    size_is_sane,
)


def _stacks(model: Model) -> tuple[tuple[str, Stack], tuple[str, Stack]]:
    return ("encoder", model.encoder), ("decoder", model.decoder)


def _attentions(model: Model) -> Iterator[tuple[str, Attention]]:
    yield "model.encoder.attention", model.encoder.attention
    yield "model.decoder.attention", model.decoder.attention
    yield "model.decoder.cross_attention", model.decoder.cross_attention


def _is_odd(attention: Attention, d_model: int) -> bool:
    """Whether the width of a head is odd; false where the heads cannot share d_model at all."""
    shared = d_model // attention.heads if d_model % attention.heads == 0 else 0
    return (attention.d_k or shared) % 2 == 1


def _odd_width(attention: Attention, d_model: int) -> str:
    """Where an odd width comes from, and the nearest values that give an even one."""
    d_k, heads = attention.d_k, attention.heads
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
