"""The sections of a small model, each with choices drawn from all that there are."""

from __future__ import annotations

import math
from random import Random
from typing import Any

Values = dict[str, Any]

INNER = ("rotary", "alibi", "relative_bias", "relative_keys", "none")
"""Positions that may differ by layer."""
ACTIVATIONS = (
    *("relu", "gelu", "gelu_tanh", "silu", "relu_squared"),
    *("swiglu", "geglu", "geglu_tanh", "reglu"),
)


def stack(draw: Random, d_model: int, *, deepest: int, decoder: bool) -> Values:
    """Everything that a stack says, with every key that it could leave out but defaults."""
    layers = draw.randint(1, deepest)
    shared = draw.random() < 0.25
    cycle = 1 if shared else layers
    own = attention(draw, d_model, cycle)
    return {
        "layers": layers,
        "share_layers": shared,
        "attention": own,
        "feed_forward": {
            "d_ff": by_layer(draw, cycle, lambda: draw.randint(1, 24)),
            "activation": draw.choice(ACTIVATIONS),
            "bias": draw.random() < 0.5,
        },
        "positions": positions(draw, widths(own, d_model), cycle),
        "norm": norm(draw),
        "dropout": draw.choice([0, 0.1, {"residual": 0.2, "attention": 0.3}, {}]),
        "mask": by_layer(draw, cycle, lambda: mask(draw, decoder=decoder)),
    }


def by_layer(draw: Random, cycle: int, one: Any) -> Any:
    """One value, or where layers may differ a list of some."""
    if cycle == 1 or draw.random() < 0.6:
        return one()
    return [one() for _ in range(draw.randint(2, cycle))]


def attention(draw: Random, d_model: int, cycle: int) -> Values:
    """Heads, their widths, and what happens to the scores."""
    section: Values = {}
    if draw.random() < 0.6:
        section["d_k"] = draw.choice([2, 3, 4, 6, 8])
        heads = by_layer(draw, cycle, lambda: draw.randint(1, 6))
    else:
        fitting = [count for count in range(1, 7) if d_model % count == 0]
        heads = by_layer(draw, cycle, lambda: draw.choice(fitting))
    section["heads"] = heads
    if draw.random() < 0.5:
        section["d_v"] = draw.randint(1, 7)
    common = math.gcd(*heads) if isinstance(heads, list) else heads
    if draw.random() < 0.6:
        section["kv_heads"] = draw.choice([n for n in range(1, common + 1) if common % n == 0])
    return section | {
        "bias": draw.random() < 0.5,
        "scale": draw.choice([None, None, 1.0, 0.3]),
        "qk_norm": draw.random() < 0.4,
        "softcap": draw.choice([None, None, 0.5, 20.0]),
    }


def widths(section: Values, d_model: int) -> set[int]:
    """The widths of a head's queries that occur in the layers."""
    heads = section["heads"] if isinstance(section["heads"], list) else [section["heads"]]
    return {section.get("d_k") or d_model // count for count in heads}


def positions(draw: Random, d_k: set[int], cycle: int) -> Any:
    """How a stack knows the order of tokens."""
    if draw.random() < 0.3:
        return draw.choice([waves, learned])(draw)
    kinds = [kind for kind in INNER if kind != "rotary" or not any(width % 2 for width in d_k)]
    return by_layer(draw, cycle, lambda: inner(draw, draw.choice(kinds), d_k))


def waves(draw: Random) -> Values:
    """Sines and cosines in every form."""
    return {
        "kind": "sinusoidal",
        "base": draw.choice([10_000, 100.5, 3]),
        "layout": draw.choice(["interleaved", "split"]),
        "frequencies": draw.choice(["paper", "fairseq"]),
        "first": draw.choice([0, 2]),
    }


def learned(draw: Random) -> Values:
    """A table that ends behind the longest sequence that is compared."""
    return {
        "kind": "learned",
        "max_length": draw.randint(12, 30),
        "first": draw.choice([0, 1, 2]),
    }


def inner(draw: Random, kind: str, d_k: set[int]) -> Values:
    """Positions that work inside attention."""
    section: Values = {"kind": kind}
    if kind == "rotary":
        section["base"] = draw.choice([10_000, 20.0])
        section["scaling"] = draw.choice([1, 4, 0.5])
        if len(d_k) == 1:
            (width,) = d_k
            section["fraction"] = draw.choice([*range(2, width, 2), width]) / width
    if kind == "relative_bias":
        section["buckets"] = draw.choice([4, 6, 8, 10])
        section["max_distance"] = draw.randint(section["buckets"] // 2 + 1, 12)
    if kind == "relative_keys":
        section["max_distance"] = draw.randint(1, 6)
    return section


def mask(draw: Random, *, decoder: bool) -> Values:
    """Which tokens may attend to which."""
    kinds = ["full", "causal", "window", "block", "prefix"]
    kind = draw.choice(kinds[:-1] if decoder else kinds)
    section: Values = {"kind": kind}
    if kind == "window":
        section["before"] = draw.randint(0, 4)
        section["after"] = 0 if decoder else draw.randint(0, 3)
        section["global_tokens"] = draw.choice([0, 1, 2])
    if kind == "block":
        section["size"] = draw.randint(1, 5)
    if kind == "prefix":
        section["length"] = draw.randint(1, 5)
    return section


def norm(draw: Random) -> Values:
    """The normalisation around each sub-layer."""
    kind = draw.choice(["layer_norm", "rms_norm"])
    section: Values = {
        "kind": kind,
        "placement": draw.choice(["post", "pre", "sandwich", "deepnorm"]),
        "eps": draw.choice([1e-5, 1e-6, 0.01]),
    }
    if kind == "layer_norm":
        section["bias"] = draw.random() < 0.5
    if draw.random() < 0.4:
        section["final"] = draw.random() < 0.5
    return section


def embeddings(draw: Random, d_model: int) -> Values:
    """The three matrices as long as the vocabulary."""
    return {
        "tie": draw.choice(["none", "source_target", "source_output", "target_output", "all"]),
        "scale": draw.random() < 0.5,
        "norm": draw.random() < 0.4,
        "output": {
            "scale": draw.choice([1, round(d_model**-0.5, 6)]),
            "bias": draw.random() < 0.5,
        },
    }


def init(draw: Random) -> Values:
    """How weights are drawn."""
    kind = draw.choice(["xavier", "normal", "depth_scaled"])
    return {"kind": kind} if kind == "xavier" else {"kind": kind, "std": 0.2}
