"""The `generation` section: how the trained model writes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from builder.blueprint.section import Natural, Section, Word


class LengthLimit(Section):
    """The longest output in tokens: ratio × source length, rounded down, + plus; EOS counts."""

    ratio: Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)] = 1.0
    """To six decimal places."""
    plus: Natural = 50
    """In tokens; at least 2 where ratio is 0: one token and EOS."""


class Greedy(Section):
    """The likeliest token at every step."""

    kind: Literal["greedy"]
    max_length: LengthLimit = LengthLimit()


Strategy = Annotated[Greedy, Word]
