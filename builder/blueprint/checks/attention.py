"""Conflicts within the attention of a layer: its heads, their widths and its positions."""

from __future__ import annotations

from collections.abc import Iterator

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.checks.finding import Finding, at
from builder.blueprint.checks.stacks import stacks_of
from builder.blueprint.model import Attention, Model, RelativeBias, Rotary
from builder.blueprint.nodes import KeyPath

PAIRS = "rotary positions turn pairs of values"


def heads_share_d_model(blueprint: Blueprint) -> Iterator[Finding]:
    """Heads divide d_model evenly wherever the width of a head is not given."""
    d_model = blueprint.model.d_model
    for path, attention in attentions_of(blueprint.model):
        for index, heads in enumerate(attention.heads):
            if attention.d_k is None and d_model % heads:
                message = (
                    f"{heads} heads cannot share d_model={d_model} evenly; nearest heads: "
                    f"{_nearest_divisors(d_model, heads)}; nearest d_model: "
                    f"{_nearest_multiples(heads, d_model)}; or give `d_k`"
                )
                own = (*at(f"{path}.heads"), index)
                yield Finding((at("model.d_model"), own, at(f"{path}.d_k")), message)


def heads_share_kv_heads(blueprint: Blueprint) -> Iterator[Finding]:
    """As many query heads share each head of keys and values."""
    for path, attention in attentions_of(blueprint.model):
        kv_heads = attention.kv_heads
        for index, heads in enumerate(attention.heads):
            if kv_heads is not None and heads % kv_heads:
                divisors = [count for count in range(1, heads + 1) if heads % count == 0]
                message = (
                    f"{heads} heads cannot share {kv_heads} kv_heads evenly; allowed kv_heads: "
                    f"{', '.join(map(str, divisors))}"
                )
                own = (*at(f"{path}.heads"), index)
                yield Finding((own, at(f"{path}.kv_heads")), message)


def rotary_turns_pairs(blueprint: Blueprint) -> Iterator[Finding]:
    """Rotary positions turn pairs of values, so that an even number of a head's are turned."""
    model = blueprint.model
    for side, stack in stacks_of(model):
        for layer in range(stack.layers):
            heads = layer % len(stack.attention.heads)
            place = layer % len(stack.positions)
            rotary = stack.positions[place]
            d_k = _width(stack.attention, heads, model.d_model)
            if not isinstance(rotary, Rotary) or d_k is None:
                continue
            path, own = f"model.{side}", (*at(f"model.{side}.positions"), place)
            inputs: tuple[KeyPath, ...] = (
                (*at(f"{path}.attention.heads"), heads),
                at(f"{path}.attention.d_k"),
                at("model.d_model"),
                (*own, "kind"),
            )
            if rotary.fraction < 1:
                if round(rotary.fraction * d_k, 6) not in range(2, d_k + 1, 2):
                    yield Finding((*inputs, (*own, "fraction")), _odd_share(rotary.fraction, d_k))
            elif d_k % 2:
                found = _odd_width(stack.attention, heads, model.d_model)
                message = f"{PAIRS}, so the width of a head is even, but {found}"
                yield Finding(inputs, message)


def buckets_hold_distances(blueprint: Blueprint) -> Iterator[Finding]:
    """The buckets of a relative bias are enough, and end behind those of one distance each."""
    for side, stack in stacks_of(blueprint.model):
        ways = 2 if side == "encoder" else 1
        for place, bias in enumerate(stack.positions):
            if not isinstance(bias, RelativeBias):
                continue
            own = (*at(f"model.{side}.positions"), place)
            exact = bias.buckets // ways // 2
            if bias.buckets < 2 * ways or bias.buckets % ways:
                needs = (
                    "an even number of buckets, at least 4" if ways == 2 else "at least 2 buckets"
                )
                message = f"the {side} needs {needs}; found {bias.buckets}"
                yield Finding(((*own, "kind"), (*own, "buckets")), message)
            elif bias.max_distance <= exact:
                message = (
                    f"found {bias.max_distance}; {bias.buckets} buckets hold the distances below "
                    f"{exact} of the {side} one by one, so allowed: above {exact}"
                )
                yield Finding(((*own, "buckets"), (*own, "max_distance")), message)


ATTENTION_CHECKS = (
    heads_share_d_model,
    heads_share_kv_heads,
    rotary_turns_pairs,
    buckets_hold_distances,
)


def attentions_of(model: Model) -> Iterator[tuple[str, Attention]]:
    """Every attention with its path."""
    yield "model.encoder.attention", model.encoder.attention
    yield "model.decoder.attention", model.decoder.attention
    yield "model.decoder.cross_attention", model.decoder.cross_attention


def _width(attention: Attention, index: int, d_model: int) -> int | None:
    """The width of a head's queries; None where the heads cannot share d_model at all."""
    heads = attention.heads[index]
    return attention.d_k or (d_model // heads if d_model % heads == 0 else None)


def _odd_share(fraction: float, d_k: int) -> str:
    """Why a share of a head cannot be turned, and the nearest ones that can."""
    pairs = round(fraction * d_k / 2, 6)
    counts = sorted({max(1, int(pairs)), min(d_k // 2, int(pairs) + 1)} - {0})
    nearest = " or ".join(f"{2 * count / d_k:.6g} ({2 * count} values)" for count in counts)
    found = f"fraction={fraction:g} of d_k={d_k} is {fraction * d_k:g} values"
    return f"{PAIRS}, but {found}; nearest: {nearest or 'none'}"


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
