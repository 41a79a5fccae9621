"""The `generation` section: how the trained model writes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from builder.blueprint.section import Count, Natural, Section, Word, whole

Token = Annotated[str, Field(min_length=1, max_length=1_000)]
Best = Annotated[int, BeforeValidator(whole), Field(ge=1, le=1_000)]
"""A number of hypotheses, or of tokens in a row."""


class LengthLimit(Section):
    """The longest output in tokens: ratio × source length, rounded down, + plus; EOS counts."""

    ratio: Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)] = 1.0
    """To six decimal places."""
    plus: Natural = 50
    """In tokens; at least 2 where ratio is 0: one token and EOS."""


class Rules(Section):
    """What every strategy obeys, whatever it prefers."""

    kind: str
    max_length: LengthLimit = LengthLimit()
    min_length: Count = 1
    """The shortest output in tokens: EOS, which counts, is barred until then; the limit wins."""
    no_repeat_ngram_size: Best | None = None
    """So many tokens in a row come at most once in an output, EOS apart; any may come again
    unless given."""
    suppress_tokens: list[Token] = []  # noqa: RUF012 (pydantic gives each section its own)
    """Target tokens that are never written, as text; each is one token of the vocabulary."""
    suppress_unknown: bool = False
    """Never write the unknown mark."""
    target_prefix: bool = False
    """The exported file has an input of that name: the beginnings that outputs must have."""


class Greedy(Rules):
    """The likeliest token at every step."""

    kind: Literal["greedy"]


class Beam(Rules):
    """The likeliest of several outputs that grow side by side (Wu et al., 2016, section 7).

    A finished one is rated by its summed log-probability over ((5 + n) / 6)^`length_penalty`, n
    counting its tokens and EOS.
    """

    kind: Literal["beam"]
    beams: Best = 4
    """Outputs that grow side by side; with 1 it is greedy."""
    n_best: Best = 1
    """Outputs returned for each source, best first; at most `beams`."""
    length_penalty: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] = 0.6
    """The exponent: 0 compares the plain sums, which favours short outputs; more favours long."""


class Sampling(Rules):
    """Tokens drawn at random, each as often as the model thinks it likely.

    First `temperature`, then `top_k`, then `top_p`. The draws of a line depend on `seed` and on
    the line itself, not on those beside it.
    """

    kind: Literal["sampling"]
    temperature: Annotated[float, Field(ge=1e-6, le=1_000, allow_inf_nan=False)] = 1.0
    """Divides the logits: below 1 likely tokens are drawn more often, above 1 less."""
    top_k: Count | None = None
    """Draw among so many of the likeliest tokens; among all unless given."""
    top_p: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = None
    """Draw among the likeliest tokens that together are so probable (Holtzman et al., 2020);
    among all unless given."""
    seed: Natural = 1
    """Where the draws start from: the same seed gives the same outputs."""
    n_best: Best = 1
    """Outputs drawn for each source."""


Strategy = Annotated[Greedy | Beam | Sampling, Field(discriminator="kind"), Word]
