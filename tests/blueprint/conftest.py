"""Blueprints from text, and the places of their problems."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.load import parse_blueprint
from builder.errors import BlueprintError, Problem

Parse = Callable[..., Blueprint]
Refuse = Callable[..., list[Problem]]


@pytest.fixture
def parse() -> Parse:
    """Load the text of a blueprint called `bp.yaml`; a missing `transom: 1` is put last."""

    def load(text: str, *overrides: str) -> Blueprint:
        return parse_blueprint(complete(text), "bp.yaml", overrides, name="bp")

    return load


@pytest.fixture
def refuse(parse: Parse) -> Refuse:
    """The problems of a blueprint that must have some."""

    def problems(text: str, *overrides: str) -> list[Problem]:
        with pytest.raises(BlueprintError) as raised:
            parse(text, *overrides)
        assert str(raised.value) == "\n".join(map(str, raised.value.problems))
        return raised.value.problems

    return problems


def complete(text: str) -> str:
    """The text with what every blueprint needs, added where no line number moves."""
    text = text if text.endswith("\n") else f"{text}\n"
    if "transom:" not in text:
        text += "transom: 1\n"
    return text if "model" in text else f"{text}model: {{}}\n"
