"""Conflicts within generation, and with the positions and pieces that it writes with."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.checks.finding import Finding, at
from builder.blueprint.generation import Beam, LengthLimit
from builder.blueprint.model import Learned
from builder.blueprint.tokenizer import Char
from builder.errors import printable

LIMIT = ("generation.max_length.ratio", "generation.max_length.plus")
MINIMUM = "generation.min_length"
SHORTEST = 2
"""Tokens of the shortest output that says anything: one, and EOS."""


def output_may_have_length(blueprint: Blueprint) -> Iterator[Finding]:
    """The limit leaves room for one token and EOS, whatever the source."""
    limit = blueprint.generation.max_length
    if _is_one_number(limit) and limit.plus < SHORTEST:
        message = (
            f"ratio={limit.ratio:g} and plus={limit.plus} leave no room for one token and EOS; "
            f"nearest: plus={SHORTEST}"
        )
        yield Finding(tuple(map(at, LIMIT)), message)


def output_fits_positions(blueprint: Blueprint) -> Iterator[Finding]:
    """A limit that is one number is not beyond the positions that the decoder has.

    One that grows with the source is cut at the positions instead.
    """
    limit, positions = blueprint.generation.max_length, blueprint.model.decoder.positions[0]
    if not isinstance(positions, Learned) or not _is_one_number(limit):
        return
    if limit.plus > positions.max_length:
        message = (
            f"generation.max_length is plus={limit.plus:,} tokens for every source, but the "
            f"decoder's learned positions end at {positions.max_length:,}; nearest: "
            f"plus={positions.max_length:,} or positions.max_length={limit.plus:,}"
        )
        paths = (*LIMIT, "model.decoder.positions.max_length")
        yield Finding(tuple(map(at, paths)), message)


def shortest_output_fits(blueprint: Blueprint) -> Iterator[Finding]:
    """No source lets an output end before `min_length` where that is above every limit."""
    generation, positions = blueprint.generation, blueprint.model.decoder.positions[0]
    limit, shortest = generation.max_length, generation.min_length
    if isinstance(positions, Learned) and shortest > positions.max_length:
        message = (
            f"min_length={shortest:,} tokens are more than the decoder's learned positions, "
            f"{positions.max_length:,}; nearest: min_length={positions.max_length:,}"
        )
        yield Finding((at(MINIMUM), at("model.decoder.positions.max_length")), message)
    elif _is_one_number(limit) and SHORTEST <= limit.plus < shortest:
        message = (
            f"min_length={shortest:,} is above the limit of every output, plus={limit.plus:,}; "
            f"nearest: min_length={limit.plus:,} or plus={shortest:,}"
        )
        yield Finding((at(MINIMUM), *map(at, LIMIT)), message)


def best_are_among_beams(blueprint: Blueprint) -> Iterator[Finding]:
    """Beams end as so many outputs at most as there are beams."""
    beam = blueprint.generation
    if isinstance(beam, Beam) and beam.n_best > beam.beams:
        message = (
            f"n_best={beam.n_best:,} outputs cannot come of beams={beam.beams:,}; nearest: "
            f"n_best={beam.beams:,} or beams={beam.n_best:,}"
        )
        yield Finding((at("generation.n_best"), at("generation.beams")), message)


def suppressed_are_pieces(blueprint: Blueprint) -> Iterator[Finding]:
    """What is never written is one piece, as far as the pieces are known before training."""
    tokenizer = blueprint.tokenizer
    if tokenizer is None or not isinstance(tokenizer.target, Char):
        return
    for index, token in enumerate(blueprint.generation.suppress_tokens):
        length = len(unicodedata.normalize("NFC", token))
        if length > 1:
            message = (
                f"`{printable(token[:40])}` is {length:,} characters, but a piece of the target's "
                "tokenizer (char) is one; write one for each character"
            )
            path = (*at("generation.suppress_tokens"), index)
            yield Finding((path, at("tokenizer.target.kind")), message)


GENERATION_CHECKS = (
    output_may_have_length,
    output_fits_positions,
    shortest_output_fits,
    best_are_among_beams,
    suppressed_are_pieces,
)


def _is_one_number(limit: LengthLimit) -> bool:
    """Whether the limit is the same for every source."""
    return round(limit.ratio, 6) == 0
