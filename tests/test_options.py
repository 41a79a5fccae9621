from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from builder.blueprint.generation import Strategy
from builder.options import NO_LIMIT, options_of


def strategy(kind: str, **others: Any) -> Strategy:
    return TypeAdapter(Strategy).validate_python({"kind": kind, **others})


@pytest.mark.parametrize(
    ("kind", "others", "expected"),
    [
        ("greedy", {}, {"max_length": NO_LIMIT}),
        ("greedy", {"min_length": 1}, {"max_length": NO_LIMIT}),
        ("greedy", {"min_length": 4}, {"max_length": NO_LIMIT, "min_length": 4}),
        (
            "beam",
            {"beams": 5, "n_best": 3, "length_penalty": 1.0},
            {
                "max_length": NO_LIMIT,
                "min_length": 1,
                "beams": 5,
                "n_best": 3,
                "length_penalty": 1.0,
            },
        ),
        (
            "sampling",
            {"seed": 7},
            {"max_length": NO_LIMIT, "temperature": 1.0, "seed": 7, "n_best": 1},
        ),
        (
            "sampling",
            {"temperature": 2, "top_k": 3, "top_p": 0.5, "n_best": 4, "min_length": 2},
            {
                "max_length": NO_LIMIT,
                "min_length": 2,
                "temperature": 2.0,
                "top_k": 3,
                "top_p": 0.5,
                "seed": 1,
                "n_best": 4,
            },
        ),
    ],
)
def test_a_strategy_has_the_options_that_its_blueprint_names(
    kind: str, others: dict[str, Any], expected: dict[str, float]
) -> None:
    options = options_of(strategy(kind, **others))

    assert list(options.items()) == list(expected.items())
    assert [type(value) for value in options.values()] == [type(v) for v in expected.values()]


def test_what_is_fixed_at_export_is_no_option() -> None:
    fixed: dict[str, Any] = {
        "no_repeat_ngram_size": 3,
        "suppress_tokens": ["a"],
        "suppress_unknown": True,
        "target_prefix": True,
    }

    assert options_of(strategy("greedy", **fixed)) == {"max_length": NO_LIMIT}


@pytest.mark.parametrize("kind", ["greedy", "beam", "sampling"])
def test_the_limit_that_nobody_asks_for_fits_every_input(kind: str) -> None:
    assert options_of(strategy(kind))["max_length"] == NO_LIMIT == 2**31 - 1
