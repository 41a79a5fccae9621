"""The normalisation around each sub-layer, and where it stands."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from builder.blueprint.section import Positive, Section, Word

Placement = Literal["post", "pre", "sandwich", "deepnorm"]

FINAL = frozenset({"pre", "sandwich"})
"""The placements that end a stack with one more norm unless told otherwise."""


class LayerNorm(Section):
    """Mean removed, variance scaled to one (Ba et al., 2016)."""

    kind: Literal["layer_norm"]
    placement: Placement = "post"
    """After each residual sum (the paper); before each sub-layer (`pre`); before and after it,
    inside the sum (`sandwich`; Ding et al., 2021); or after a sum in which what came in weighs
    more, with smaller first weights (`deepnorm`; Wang et al., 2022)."""
    eps: Positive = 1e-5
    """Added to the variance."""
    bias: bool = True
    """A trained shift beside the trained scale."""
    final: bool | None = None
    """One more norm at the end of the stack; with `pre` and `sandwich` unless given."""


class RMSNorm(Section):
    """Root mean square scaled to one, no bias (Zhang and Sennrich, 2019)."""

    kind: Literal["rms_norm"]
    placement: Placement = "post"
    """As for `layer_norm`."""
    eps: Positive = 1e-5
    """Added to the mean square."""
    final: bool | None = None
    """One more norm at the end of the stack; with `pre` and `sandwich` unless given."""


Norm = Annotated[LayerNorm | RMSNorm, Field(discriminator="kind"), Word]


def has_final(norm: Norm) -> bool:
    """Whether the stack ends with one more norm."""
    return norm.placement in FINAL if norm.final is None else norm.final


def norms_per_sublayer(norm: Norm) -> int:
    """How many norms stand around each sub-layer."""
    return 2 if norm.placement == "sandwich" else 1
