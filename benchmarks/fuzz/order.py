"""Positions and masks from their papers' formulas, for one pair of tokens at a time."""

from __future__ import annotations

import math

import numpy as np

from builder.blueprint.model import Mask, RelativeBias, Sinusoidal

Array = np.ndarray


def waves(positions: Sinusoidal, time: int, d_model: int) -> Array:
    """The vector of one position (Vaswani et al., 2017, section 3.5)."""
    if positions.frequencies == "paper":
        half = math.ceil(d_model / 2)
        rates = [positions.base ** (-2 * i / d_model) for i in range(half)]
    else:
        half = d_model // 2
        rates = [positions.base ** (-i / (half - 1)) for i in range(half)]
    sines = [math.sin((time + positions.first) * rate) for rate in rates]
    cosines = [math.cos((time + positions.first) * rate) for rate in rates]
    if positions.layout == "split":
        columns = sines + cosines
    else:
        columns = [wave for pair in zip(sines, cosines, strict=True) for wave in pair]
    return np.array([*columns, 0.0][:d_model])  # fairseq leaves an odd column empty


def turned(x: Array, turns: float, base: float, width: int) -> Array:
    """The first `width` values as complex numbers, turned (Su et al., 2021)."""
    half = width // 2
    rates = base ** (-np.arange(half) * 2 / width)
    z = (x[:half] + 1j * x[half:width]) * np.exp(1j * turns * rates)
    return np.concatenate([z.real, z.imag, x[width:]])


def slopes(heads: int) -> list[float]:
    """The slopes of ALiBi, by the recursion of its authors (Press et al., 2022)."""
    if math.log2(heads).is_integer():
        return [2 ** (-8 * (head + 1) / heads) for head in range(heads)]
    lower = 2 ** math.floor(math.log2(heads))
    return slopes(lower) + slopes(2 * lower)[0::2][: heads - lower]


def bucket(bias: RelativeBias, distance: int, *, both_ways: bool) -> int:
    """The row of the table for the distance key − query (Raffel et al., 2020)."""
    buckets, first = bias.buckets, 0
    if both_ways:
        buckets //= 2
        first = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(-distance, 0)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    share = math.log(distance / exact) / math.log(bias.max_distance / exact)
    # where a bucket begins the product is whole, but for the rounding of the logarithms
    beyond = math.floor(share * (buckets - exact) + 1e-9)
    return first + min(exact + beyond, buckets - 1)


def sees(mask: Mask, query: int, key: int) -> bool:
    """Whether the mask lets position `query` attend to position `key`."""
    match mask.kind:
        case "full":
            return True
        case "causal":
            return key <= query
        case "window":
            near = query - mask.before <= key <= query + mask.after
            return near or min(query, key) < mask.global_tokens
        case "block":
            return query // mask.size == key // mask.size
        case "prefix":
            return key <= query or max(query, key) < mask.length
