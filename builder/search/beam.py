"""Beam search: of the continuations of a row's hypotheses, the likeliest live on."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from builder.search.found import BOS_ID, EOS_ID, PAD_ID, Found
from builder.search.independent import with_itself
from builder.search.options import Options

DEAD = float("-inf")
"""The score of a hypothesis that does not exist."""


class State(NamedTuple):
    """The state between two steps, of rows with equally many beams.

    Live hypotheses stand best first; the dead have score −inf and token pad.
    All hypotheses of a row that is not alive are dead.
    """

    position: Int[Tensor, ""]
    """Tokens written so far, by the rows that are alive."""
    last: Int[Tensor, "batch beam"]
    """The tokens that the next step reads."""
    tokens: Int[Tensor, "batch beam time"]
    """What is written, without BOS."""
    scores: Float[Tensor, "batch beam"]
    """Sums of log-probabilities."""
    finished: Found
    """The best that have ended or were cut off, at most as many as beams; the rest have length 0
    and score −inf."""
    alive: Bool[Tensor, " batch"]
    """True where more is to be written."""
    ancestors: Bool[Tensor, "batch beam slots"]
    """Which of the vectors in the row's cache are those of a hypothesis' own tokens. So beams part
    without anything in the cache being moved."""


def start(
    limits: Int[Tensor, " batch"],
    places: Int[Tensor, " beam"],
    dtype: torch.dtype = torch.float32,
) -> State:
    """Begin every row with one hypothesis, BOS, and nothing written.

    `places` numbers the beams from 0; `dtype` is that of the scores.
    """
    zeros = torch.zeros_like(limits)[:, None] + torch.zeros_like(places)  # [batch, beam]
    dead = torch.full_like(zeros, DEAD, dtype=dtype)
    return State(
        position=torch.zeros((), dtype=torch.int64, device=limits.device),
        last=zeros + BOS_ID,
        tokens=zeros[..., None][..., :0],
        scores=torch.where(places == 0, 0.0, dead),
        finished=Found(zeros[..., None][..., :0], dead, zeros, zeros > 0),
        alive=limits > 0,
        ancestors=(zeros > 0)[..., None][..., :0],
    )


def advance(
    state: State,
    logits: Float[Tensor, "batch beam vocab"],
    limits: Int[Tensor, " batch"],
    options: Options,
    barred: Bool[Tensor, "batch beam vocab"] | None = None,
) -> State:
    """Continue every row that is alive by one token, which is not `barred`.

    Of the 2 · beams best continuations, those of the first `beams` that are EOS are finished, and
    the best `beams` of the others live on. A row ends with as many finished hypotheses as beams, or
    at its limit, where the live ones are cut off.
    """
    min_length, length_penalty = _needed(options)
    beams, length = state.scores.shape[1], state.position + 1
    scores, parents, tokens = _candidates(state.scores, logits, barred)
    written = torch.cat([take(state.tokens, parents), tokens[..., None]], dim=2)
    norm = ((length + 5).to(scores.dtype) / 6) ** length_penalty

    ends = tokens == EOS_ID
    lives = _first(~ends, beams)
    live, live_tokens, live_written = (take(x, lives) for x in (scores, tokens, written))
    stuck = live[:, :1] == DEAD  # nothing but EOS is left
    early = ends[:, :beams] & (stuck | (length >= min_length))
    full = (state.finished.scores > DEAD).sum(dim=1) + early.sum(dim=1) >= beams
    last = length >= limits
    cut_off = torch.where((last & ~full)[:, None], live / norm, DEAD)
    ended = torch.where(early, scores[:, :beams] / norm, DEAD)
    finished = _merge(state.finished, (written[:, :beams], ended), (live_written, cut_off))
    alive = ~full & ~last & (live[:, 0] > DEAD)
    live = torch.where(alive[:, None], live, DEAD)
    return State(
        position=length,
        last=torch.where(live == DEAD, PAD_ID, live_tokens),
        tokens=live_written,
        scores=live,
        finished=finished,
        alive=alive,
        ancestors=take(with_itself(state.ancestors), take(parents, lives)),
    )


def finish(state: State) -> Found:
    """Return what is finished; what a row lacks has length 0 and score −inf."""
    return state.finished


def take(
    values: Shaped[Tensor, "batch beam *rest"], places: Int[Tensor, "batch taken"]
) -> Shaped[Tensor, "batch taken *rest"]:
    """Take the hypotheses at `places` of each row."""
    others = values.shape[2:]
    index = places.view(*places.shape, *[1] * len(others)).expand(-1, -1, *others)
    return values.gather(1, index)


def _needed(options: Options) -> tuple[Int[Tensor, ""], Float[Tensor, ""]]:
    if options.min_length is None or options.length_penalty is None:
        raise RuntimeError("beams need a `min_length` and a `length_penalty`")
    return options.min_length, options.length_penalty


def _candidates(
    scores: Float[Tensor, "batch beam"],
    logits: Float[Tensor, "batch beam vocab"],
    barred: Bool[Tensor, "batch beam vocab"] | None,
) -> tuple[Float[Tensor, "batch taken"], Int[Tensor, "batch taken"], Int[Tensor, "batch taken"]]:
    """Return the score, the parent and the token of the 2 · beams best continuations.

    A dead one has token pad and the first parent; engines differ in where they found it.
    """
    beams, vocab = scores.shape[1], logits.shape[2]
    totals = logits.to(scores.dtype).log_softmax(dim=-1) + scores[..., None]
    if barred is not None:
        totals = totals.masked_fill(barred, DEAD)
    best, places = totals.flatten(1).topk(2 * beams)
    parents = places // vocab
    dead = best == DEAD
    tokens = torch.where(dead, PAD_ID, places - parents * vocab)
    return best, torch.where(dead, 0, parents), tokens


def _first(
    wanted: Shaped[Tensor, "batch candidate"], count: int | torch.SymInt
) -> Int[Tensor, "batch count"]:
    """Return the places of the first `count` that are wanted; there are as many."""
    places = torch.arange(wanted.shape[1], device=wanted.device)
    ranks = torch.where(wanted, places, places + wanted.shape[1])
    return ranks.topk(count, largest=False).indices


def _merge(
    finished: Found,
    ended: tuple[Int[Tensor, "batch beam time"], Float[Tensor, "batch beam"]],
    cut_off: tuple[Int[Tensor, "batch beam time"], Float[Tensor, "batch beam"]],
) -> Found:
    """Keep the best of what was finished before, ends now and is cut off now, with its score."""
    (ends, scores), (cuts, cut_scores) = ended, cut_off
    best, places = torch.cat([finished.scores, scores, cut_scores], dim=1).topk(ends.shape[1])
    shorter = finished.target_ids
    padded = torch.cat([shorter, torch.zeros_like(ends[..., :1])], dim=2)
    lengths = torch.full_like(finished.lengths, ends.shape[2])
    never, there = torch.zeros_like(finished.ended), best > DEAD
    return Found(
        take(torch.cat([padded, ends, cuts], dim=1), places) * there[..., None],
        best,
        take(torch.cat([finished.lengths, lengths, lengths], dim=1), places) * there,
        take(torch.cat([finished.ended, ~never, never], dim=1), places) & there,
    )
