"""A blueprint's choices in a line of words."""

from __future__ import annotations

from collections.abc import Iterable

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.generation import Beam, Greedy, Sampling, Strategy
from builder.blueprint.model import Attention, Decoder, Encoder, Learned, Positions
from builder.blueprint.plan.drawing import in_words


def summarise(blueprint: Blueprint) -> str:
    """The model in a few words, for `check`."""
    encoder, decoder = blueprint.model.encoder, blueprint.model.decoder
    return (
        f"d_model={blueprint.model.d_model}, {encoder.layers}+{decoder.layers} layers, "
        f"{_heads(encoder.attention)}"
    )


def describe_stack(stack: Encoder | Decoder) -> str:
    """Every choice of one stack; what differs by layer is listed as it is cycled."""
    layers = "1 layer" if stack.layers == 1 else f"{stack.layers} layers"
    if stack.share_layers:
        layers += " with the same weights"
    parts = [layers, _attention(stack.attention)]
    if isinstance(stack, Decoder) and stack.cross_attention != stack.attention:
        parts.append(f"cross-attention {_attention(stack.cross_attention)}")
    return ", ".join(
        [
            *parts,
            f"d_ff {_cycle(map(str, stack.feed_forward.d_ff))} {stack.feed_forward.activation}",
            f"positions {_cycle(map(_positions, stack.positions))}",
            f"mask {_cycle(map(in_words, stack.mask))}",
            f"{stack.norm.kind} {stack.norm.placement}",
        ]
    )


def describe_generation(strategy: Strategy) -> str:
    """How outputs are searched, in what is not at its default, and the longest of them."""
    shown = strategy.model_dump(exclude_defaults=True, exclude={"kind", "max_length"})
    match strategy:
        case Beam(beams=beams, length_penalty=penalty):
            shown = {"beams": beams, "length_penalty": penalty, **shown}
        case Sampling(temperature=temperature, seed=seed):
            shown = {"temperature": temperature, "seed": seed, **shown}
        case Greedy():
            pass
    limit = strategy.max_length
    reach = f"{limit.ratio:g} × source + {limit.plus:,}" if limit.ratio else f"{limit.plus:,}"
    parts = [_choice(key, value) for key, value in shown.items()]
    return ", ".join([strategy.kind, *parts, f"at most {reach} tokens"])


def _choice(key: str, value: object) -> str:
    if isinstance(value, bool):
        return key
    if isinstance(value, list):
        return f"{key} ({len(value):,})"
    return f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}"


def _attention(attention: Attention) -> str:
    sizes = {"kv_heads": attention.kv_heads, "d_k": attention.d_k, "d_v": attention.d_v}
    if attention.heads == (attention.kv_heads,):
        del sizes["kv_heads"]
    limits = {"scale": attention.scale, "softcap": attention.softcap}
    known = [f"{name} {size}" for name, size in sizes.items() if size is not None]
    known += [f"{name} {limit:g}" for name, limit in limits.items() if limit is not None]
    known += ["qk_norm"] if attention.qk_norm else []
    return f"{_heads(attention)} ({', '.join(known)})" if known else _heads(attention)


def _heads(attention: Attention) -> str:
    return f"{_cycle(map(str, attention.heads))} head{'s' if attention.heads != (1,) else ''}"


def _positions(positions: Positions) -> str:
    reach = f" to {positions.max_length:,}" if isinstance(positions, Learned) else ""
    return positions.kind + reach


def _cycle(values: Iterable[str]) -> str:
    return " | ".join(values)
