"""Bundled blueprints are found, are valid, and say what they are."""

from __future__ import annotations

import pytest

from builder.blueprint.bundled import bundled_blueprints
from builder.blueprint.load import load_blueprint


def test_the_main_ones_are_there() -> None:
    assert {"dates", "katakana", "transformer-base"} <= set(bundled_blueprints())


@pytest.mark.parametrize("name", bundled_blueprints())
def test_each_says_what_it_is_and_is_called_as_its_file(name: str) -> None:
    blueprint = load_blueprint(name)

    assert blueprint.name == name
    assert blueprint.description


@pytest.mark.parametrize("name", ["dates", "katakana", "transformer-base", "transformer-big"])
def test_experiments_are_complete(name: str) -> None:
    blueprint = load_blueprint(name)

    assert None not in (blueprint.tokenizer, blueprint.data, blueprint.training)
