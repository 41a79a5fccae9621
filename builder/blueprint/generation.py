"""The `generation` section: how the trained model writes."""

from __future__ import annotations

from typing import Annotated, Literal

from builder.blueprint.section import Natural, NonNegative, Section, Word


class LengthLimit(Section):
    """The longest output in tokens: ratio × source length, rounded down, + plus; EOS counts."""

    ratio: NonNegative = 1.0
    plus: Natural = 50


class Greedy(Section):
    """The likeliest token at every step."""

    kind: Literal["greedy"]
    max_length: LengthLimit = LengthLimit()


Generation = Annotated[Greedy, Word]
