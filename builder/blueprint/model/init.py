"""The weights before the first step."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from builder.blueprint.section import Positive, Section, Word


class Xavier(Section):
    """Matrices as Glorot and Bengio (2010) draw them, embeddings with deviation d_model^-0.5.

    The recipe of the paper's own implementation.
    """

    kind: Literal["xavier"]


class Normal(Section):
    """Matrices and embeddings drawn from one normal distribution (BERT, BART)."""

    kind: Literal["normal"]
    std: Positive = 0.02
    """Its standard deviation."""


class DepthScaled(Section):
    """As `normal`, with smaller projections at the end of each sub-layer (Radford et al., 2019).

    They are divided by the square root of the number of sub-layers of the stack.
    """

    kind: Literal["depth_scaled"]
    std: Positive = 0.02
    """The standard deviation of the others."""


Init = Annotated[Xavier | Normal | DepthScaled, Field(discriminator="kind"), Word]
