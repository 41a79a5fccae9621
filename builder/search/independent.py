"""Hypotheses that never mix: the likeliest token at every step, or one drawn by chance."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from builder.search.found import BOS_ID, EOS_ID, PAD_ID, Found


class State(NamedTuple):
    """The state between two steps; a hypothesis that has ended never changes again."""

    position: Int[Tensor, ""]
    """Tokens written so far, by those that go on."""
    last: Int[Tensor, "batch beam"]
    """The tokens that the next step reads."""
    tokens: Int[Tensor, "batch beam time"]
    """What is written, without BOS; pad after the end."""
    scores: Float[Tensor, "batch beam"]
    """Sums of log-probabilities."""
    lengths: Int[Tensor, "batch beam"]
    """Tokens written, EOS counted."""
    ended: Bool[Tensor, "batch beam"]
    """True where EOS was written."""
    alive: Bool[Tensor, " batch"]
    """True where more is to be written."""
    ancestors: Bool[Tensor, "batch beam slots"] | None
    """Which of the vectors in the row's cache are a hypothesis' own; None where it has but one."""


def start(limits: Int[Tensor, " batch"], places: Int[Tensor, " beam"] | None = None) -> State:
    """Begin every hypothesis with BOS and nothing written; `places` numbers them from 0.

    Without it every row has one, which is told apart from no other.
    """
    zeros = torch.zeros_like(limits)[:, None]
    if places is not None:
        zeros = zeros + torch.zeros_like(places)  # [batch, beam]
    return State(
        position=torch.zeros((), dtype=torch.int64, device=limits.device),
        last=zeros + BOS_ID,
        tokens=zeros[..., None][..., :0],
        scores=zeros.to(torch.float32),
        lengths=zeros,
        ended=zeros > 0,
        alive=limits > 0,
        ancestors=None if places is None else (zeros > 0)[..., None][..., :0],
    )


def advance(
    state: State,
    choice: Int[Tensor, "batch beam"],
    log_probs: Float[Tensor, "batch beam"],
    limits: Int[Tensor, " batch"],
) -> State:
    """Write the tokens of `choice`, which have `log_probs`, where something is to be written."""
    open_ = ~state.ended & (state.lengths < limits[:, None])
    token = torch.where(open_, choice, PAD_ID)
    lengths = state.lengths + open_
    ended = state.ended | (token == EOS_ID)
    return State(
        position=state.position + 1,
        tokens=torch.cat([state.tokens, token[..., None]], dim=2),
        last=token,
        scores=state.scores + torch.where(open_, log_probs.to(torch.float32), 0.0),
        lengths=lengths,
        ended=ended,
        alive=(~ended & (lengths < limits[:, None])).any(dim=1),
        ancestors=None if state.ancestors is None else with_itself(state.ancestors),
    )


def finish(state: State) -> Found:
    """Return every hypothesis."""
    return Found(state.tokens, state.scores, state.lengths, state.ended)


def likeliest(
    logits: Float[Tensor, "batch beam vocab"], barred: Bool[Tensor, "batch beam vocab"] | None
) -> tuple[Int[Tensor, "batch beam"], Float[Tensor, "batch beam"]]:
    """Choose the likeliest token that is not barred; return its log-probability too."""
    log_probs = logits.to(torch.float32).log_softmax(dim=-1)
    allowed = log_probs if barred is None else log_probs.masked_fill(barred, float("-inf"))
    best, choice = allowed.max(dim=-1)
    return choice, best


def with_itself(
    ancestors: Bool[Tensor, "batch beam slots"],
) -> Bool[Tensor, "batch beam longer"]:
    """Add one slot for each hypothesis of a row, its own."""
    places = torch.arange(ancestors.shape[1], device=ancestors.device)
    itself = places[:, None] == places
    return torch.cat([ancestors, itself.expand(ancestors.shape[0], -1, -1)], dim=2)
