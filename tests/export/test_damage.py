"""The damage of rounding a weight: against products by hand, and where the weight stands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from builder.export import damage
from builder.export.int8 import quantise
from builder.export.side_data import Drafts
from tests.export import toy

IDS = np.random.default_rng(3).integers(0, toy.VOCAB, (24, 4))
PARTS = [IDS[:15], IDS[15:]]
ROOM = Drafts(Path("toy.onnx"))
FEEDS = [{"source_ids": part} for part in PARTS]


def rounded(rows: np.ndarray) -> np.ndarray:
    """What DynamicQuantizeLinear makes of all rows together."""
    scale = (max(rows.max(), 0) - min(rows.min(), 0)) / 255
    zero = np.rint(-min(rows.min(), 0) / scale)
    return (np.clip(np.rint(rows / scale) + zero, 0, 255) - zero) * scale


@pytest.mark.parametrize("name", ["key", "value"])
def test_equals_products_by_hand(name: str) -> None:
    """Those before the loops, whose inputs are known."""
    weights = toy.draw()
    integers = quantise(weights[name], "int7")
    opened = integers.values * integers.scale.astype(float)
    error = whole = 0.0
    for part in PARTS:
        rows = (weights[toy.TOKENS][part] + weights[toy.PLACE_TABLE][part]).astype(float)
        error += ((rounded(rows) @ opened - rows @ weights[name]) ** 2).sum()
        whole += ((rows @ weights[name]) ** 2).sum()

    found = damage.of_products(toy.build(weights), "int7", FEEDS, ROOM)

    assert set(found) == set(toy.MATRICES)
    assert found[name] == pytest.approx((error / whole) ** 0.5, rel=1e-2)


@pytest.mark.parametrize("name", ["key", "wide", "turn"])
def test_finds_the_most_damaged_at_every_depth(name: str) -> None:
    weights = toy.draw()
    inputs = weights[name].T if name == "wide" else weights[name]
    inputs[0] = 80.0  # in every channel: the scale leaves nothing to the others

    found = damage.of_products(toy.build(weights), "uint8", FEEDS, ROOM)

    assert max(found, key=lambda key: found[key]) == name


def test_of_halves_is_the_rounding_of_numbers() -> None:
    weights = toy.draw()
    weights["wide"] *= 1e-6  # below what float16 has all of its bits for

    found = damage.of_halves(toy.build(weights))

    assert max(found, key=lambda key: found[key]) == "wide"
    assert 0 < found["key"] < 2**-11
