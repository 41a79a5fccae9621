"""How a model knows the order of tokens."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from builder.blueprint.section import Count, Length, Natural, Positive, Section, Word


class Sinusoidal(Section):
    """Fixed sines and cosines added to the embeddings (Vaswani et al., 2017, section 3.5)."""

    kind: Literal["sinusoidal"]
    base: Positive = 10_000.0
    """The longest wavelength divided by 2π."""
    layout: Literal["interleaved", "split"] = "interleaved"
    """Sines in the even columns and cosines in the odd ones (the paper), or all sines before all
    cosines (fairseq, Marian)."""
    frequencies: Literal["paper", "fairseq"] = "paper"
    """Frequency i is base^(−2i / d_model) in the paper, and base^(−i / (d_model / 2 − 1)) in
    fairseq and tensor2tensor, whose slowest one is 1 / base."""
    first: Natural = 0
    """The index of a sequence's first position (2 in fairseq)."""


class Learned(Section):
    """One trained vector for each position, added to the embeddings (Gehring et al., 2017)."""

    kind: Literal["learned"]
    max_length: Length
    """Positions that exist, in tokens; longer sequences are refused."""
    first: Natural = 0
    """Rows of the table before that of the first position, which no token uses (2 in BART)."""


class Rotary(Section):
    """Queries and keys turned by an angle that grows with the position (Su et al., 2021)."""

    kind: Literal["rotary"]
    base: Positive = 10_000.0
    """The longest wavelength divided by 2π."""
    fraction: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 1.0
    """The share of each head's d_k values, its first ones, that are turned; an even number."""
    scaling: Positive = 1.0
    """Positions are divided by this: linear scaling (Chen et al., 2023)."""


class ALiBi(Section):
    """Scores lowered in proportion to the distance, by a slope for each head (Press et al., 2022).

    The slopes are 2^(−8h / heads) for h = 1, 2, …; where heads are no power of two, those of the
    power below come first and every other one of the power above fills up. In an encoder the
    distance counts alike to both sides.
    """

    kind: Literal["alibi"]


class RelativeBias(Section):
    """A number for each head and bucket of distances, added to the scores (Raffel et al., 2020).

    Half of the buckets hold one distance each, the others ranges that grow with the logarithm up
    to `max_distance`; an encoder uses half of all for each direction. The layers of a stack share
    one table.
    """

    kind: Literal["relative_bias"]
    buckets: Annotated[Count, Field(le=256)] = 32
    """Rows of the table; even, and at least 4 in an encoder."""
    max_distance: Annotated[Count, Field(le=65_536)] = 128
    """From this distance on, all share the last bucket."""


class RelativeKeys(Section):
    """A trained vector for each distance, added to the keys (Shaw et al., 2018).

    The heads of a layer share it; a decoder has vectors for the distances to the left alone.
    """

    kind: Literal["relative_keys"]
    max_distance: Annotated[Count, Field(le=65_536)] = 16
    """Longer distances are taken for this one."""


class NoPositions(Section):
    """No positional signal."""

    kind: Literal["none"]


Positions = Annotated[
    Sinusoidal | Learned | Rotary | ALiBi | RelativeBias | RelativeKeys | NoPositions,
    Field(discriminator="kind"),
    Word,
]
