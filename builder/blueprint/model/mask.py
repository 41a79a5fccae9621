"""Which tokens may attend to which."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from builder.blueprint.section import Count, Natural, Section, Word


class Full(Section):
    """Every position may attend to every other; in a decoder, to those before it."""

    kind: Literal["full"]


class Causal(Section):
    """Every position may attend to itself and to those before it."""

    kind: Literal["causal"]


class Window(Section):
    """Every position may attend to itself and to its nearest neighbours (Beltagy et al., 2020)."""

    kind: Literal["window"]
    before: Natural
    """Neighbours seen on the left, in tokens; the position itself is always seen."""
    after: Natural = 0
    """Neighbours seen on the right, in tokens; a decoder sees none."""
    global_tokens: Natural = 0
    """The first tokens, so many, see all and are seen by all; in a decoder, by those after them."""


class Block(Section):
    """Every position may attend to those of its own block: chunked local attention."""

    kind: Literal["block"]
    size: Count
    """Tokens of a block; the first one begins at the first token."""


class Prefix(Section):
    """Bidirectional over the first positions, causal after them (Raffel et al., 2020, section 3.2).

    For encoders only.
    """

    kind: Literal["prefix"]
    length: Count
    """Tokens of the prefix."""


Mask = Annotated[Full | Causal | Window | Block | Prefix, Field(discriminator="kind"), Word]
