"""Beam search: of the continuations of a row's hypotheses, the likeliest live on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from builder.search.greedy import BOS_ID, EOS_ID, PAD_ID, Found

DEAD = float("-inf")
"""The score of a hypothesis that does not exist."""


class Options(NamedTuple):
    """What can be asked of every run of a search."""

    min_length: Int[Tensor, ""]
    """EOS counts only from this token on; 1 asks for nothing."""
    length_penalty: Float[Tensor, ""]
    """The score is the sum of log-probabilities / ((5 + length) / 6)^length_penalty."""


class State(NamedTuple):
    """The state between two steps, of rows with equally many beams.

    Live hypotheses stand best first; the dead have score −inf, token pad and themselves as parents.
    All hypotheses of a row that is not alive are dead.
    """

    position: Int[Tensor, ""]
    """Tokens written so far, by the rows that are alive."""
    last: Int[Tensor, "batch beam"]
    """The tokens that the next step reads."""
    parents: Int[Tensor, "batch beam"]
    """Which hypothesis of the step before each one continues."""
    tokens: Int[Tensor, "batch beam time"]
    """What is written, without BOS."""
    scores: Float[Tensor, "batch beam"]
    """Sums of log-probabilities."""
    finished: Found
    """The best that have ended or were cut off, at most as many as beams; the rest have length 0
    and score −inf."""
    alive: Shaped[Tensor, " batch"]
    """True where more is to be written."""


def start(
    limits: Int[Tensor, " batch"], beams: Int[Tensor, " beam"], dtype: torch.dtype = torch.float32
) -> State:
    """Begin every row with one hypothesis, BOS, and nothing written.

    `beams` numbers the beams from 0; `dtype` is that of the scores.
    """
    zeros = torch.zeros_like(limits)[:, None] + torch.zeros_like(beams)  # [batch, beam]
    dead = torch.full_like(zeros, DEAD, dtype=dtype)
    return State(
        position=torch.zeros((), dtype=torch.int64, device=limits.device),
        last=zeros + BOS_ID,
        parents=zeros + beams,
        tokens=zeros[..., None][..., :0],
        scores=torch.where(beams == 0, 0.0, dead),
        finished=Found(zeros[..., None][..., :0], dead, zeros, zeros > 0),
        alive=limits > 0,
    )


def advance(
    state: State,
    logits: Float[Tensor, "batch beam vocab"],
    limits: Int[Tensor, " batch"],
    options: Options,
) -> State:
    """Continue every row that is alive by one token.

    Of the 2 · beams best continuations, those of the first `beams` that are EOS are finished, and
    the best `beams` of the others live on. A row ends with as many finished hypotheses as beams, or
    at its limit, where the live ones are cut off.
    """
    beams, length = state.scores.shape[1], state.position + 1
    scores, parents, tokens = _candidates(state.scores, logits)
    written = torch.cat([take(state.tokens, parents), tokens[..., None]], dim=2)
    norm = ((length + 5).to(scores.dtype) / 6) ** options.length_penalty

    ends = tokens == EOS_ID
    lives = _first(~ends, beams)
    live, live_tokens, live_written = (take(x, lives) for x in (scores, tokens, written))
    early = ends[:, :beams] & (length >= options.min_length)
    full = (state.finished.scores > DEAD).sum(dim=1) + early.sum(dim=1) >= beams
    last = length >= limits
    cut_off = torch.where((last & ~full)[:, None], live / norm, DEAD)
    ended = torch.where(early, scores[:, :beams] / norm, DEAD)
    finished = _merge(
        state.finished, written[:, :beams], ended, cut=live_written, cut_scores=cut_off
    )
    alive = ~full & ~last & (live[:, 0] > DEAD)
    live = torch.where(alive[:, None], live, DEAD)
    dead = live == DEAD
    return State(
        position=length,
        last=torch.where(dead, PAD_ID, live_tokens),
        parents=torch.where(dead, torch.arange(beams, device=live.device), take(parents, lives)),
        tokens=live_written,
        scores=live,
        finished=finished,
        alive=alive,
    )


def finish(state: State, n_best: int) -> Found:
    """Return the best of what is finished; what a row lacks has length 0 and score −inf."""
    return Found(*(part[:, :n_best] for part in state.finished))


def search(
    step: Callable[[State], Float[Tensor, "batch beam vocab"]],
    limits: Int[Tensor, " batch"],
    options: Options,
    *,
    beams: int,
    n_best: int,
) -> Found:
    """Run until every row has ended; `step` scores the tokens after a state's last ones.

    Scores are of the type of `options.length_penalty`. The exported file runs `start` and `advance`
    too, in a loop of its own.
    """
    places = torch.arange(beams, device=limits.device)
    state = start(limits, places, options.length_penalty.dtype)
    while bool(state.alive.any()):
        state = advance(state, step(state), limits, options)
    return finish(state, n_best)


def take(
    values: Shaped[Tensor, "batch beam *rest"], places: Int[Tensor, "batch taken"]
) -> Shaped[Tensor, "batch taken *rest"]:
    """Take the hypotheses at `places` of each row."""
    batch, beams = values.shape[:2]
    rows = torch.arange(batch, device=places.device)[:, None] * beams + places
    return values.flatten(0, 1).index_select(0, rows.flatten()).unflatten(0, places.shape)


def _candidates(
    scores: Float[Tensor, "batch beam"], logits: Float[Tensor, "batch beam vocab"]
) -> tuple[Float[Tensor, "batch taken"], Int[Tensor, "batch taken"], Int[Tensor, "batch taken"]]:
    """Return the score, the parent and the token of the 2 · beams best continuations.

    A dead one has token pad; engines differ in where they found it.
    """
    logits, beams, vocab = logits.to(scores.dtype), scores.shape[1], logits.shape[2]
    totals = logits + (scores - logits.logsumexp(dim=-1))[..., None]
    best, places = totals.flatten(1).topk(2 * beams)
    parents = places.div(vocab, rounding_mode="trunc")
    dead = best == DEAD
    tokens = torch.where(dead, PAD_ID, places - parents * vocab)
    return best, torch.where(dead, 0, parents), tokens


def _first(wanted: Shaped[Tensor, "batch candidate"], count: int) -> Int[Tensor, "batch count"]:
    """Return the places of the first `count` that are wanted; there are as many."""
    places = torch.arange(wanted.shape[1], device=wanted.device)
    ranks = torch.where(wanted, places, places + wanted.shape[1])
    return ranks.topk(count, largest=False).indices


def _merge(
    finished: Found,
    ends: Int[Tensor, "batch beam time"],
    scores: Float[Tensor, "batch beam"],
    *,
    cut: Int[Tensor, "batch beam time"],
    cut_scores: Float[Tensor, "batch beam"],
) -> Found:
    """Keep the best of what was finished before, ends now and is cut off now."""
    best, places = torch.cat([finished.scores, scores, cut_scores], dim=1).topk(ends.shape[1])
    shorter = finished.target_ids
    padded = torch.cat([shorter, torch.zeros_like(ends[..., :1])], dim=2)
    lengths = torch.full_like(finished.lengths, ends.shape[2])
    never, there = torch.zeros_like(finished.ended), best > DEAD
    return Found(
        take(torch.cat([padded, ends, cut], dim=1), places) * there[..., None],
        best,
        take(torch.cat([finished.lengths, lengths, lengths], dim=1), places) * there,
        take(torch.cat([finished.ended, ~never, never], dim=1), places) & there,
    )
