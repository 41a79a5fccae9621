"""State search: the likeliest token at every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

PAD_ID, BOS_ID, EOS_ID = 0, 1, 2


class State(NamedTuple):
    """The state between two steps; a row that is not alive never changes again."""

    position: Int[Tensor, ""]
    """Tokens written so far, by the rows that are alive."""
    tokens: Int[Tensor, "batch time"]
    """What is written, without BOS; pad after the end."""
    last: Int[Tensor, " batch"]
    """The token that the next step reads."""
    scores: Float[Tensor, " batch"]
    """Sums of log-probabilities."""
    lengths: Int[Tensor, " batch"]
    """Tokens written, EOS counted."""
    ended: Bool[Tensor, " batch"]
    """True where EOS was written."""
    alive: Bool[Tensor, " batch"]
    """True where more is to be written."""


class Found(NamedTuple):
    """What a search returns: the outputs of every strategy, best first."""

    target_ids: Int[Tensor, "batch n_best target"]
    """No BOS; EOS where it was reached; pad after."""
    scores: Float[Tensor, "batch n_best"]
    lengths: Int[Tensor, "batch n_best"]
    """Tokens, EOS counted."""
    ended: Bool[Tensor, "batch n_best"]
    """False where the limit cut the output off."""


def start(limits: Int[Tensor, " batch"]) -> State:
    """Begin every row with BOS and nothing written."""
    zeros = torch.zeros_like(limits)
    return State(
        position=torch.zeros((), dtype=torch.int64, device=limits.device),
        tokens=limits.new_zeros(limits.shape[0], 0),
        last=zeros + BOS_ID,
        scores=zeros.to(torch.float32),
        lengths=zeros,
        ended=zeros > 0,
        alive=zeros == 0,
    )


def advance(
    state: State, logits: Float[Tensor, "batch vocab"], limits: Int[Tensor, " batch"]
) -> State:
    """Write the likeliest token of every row that is alive."""
    best, choice = logits.max(dim=-1)
    log_probs = best.to(torch.float32) - logits.to(torch.float32).logsumexp(dim=-1)
    token = torch.where(state.alive, choice, PAD_ID)
    lengths = state.lengths + state.alive
    ended = state.ended | (token == EOS_ID)
    return State(
        position=state.position + 1,
        tokens=torch.cat([state.tokens, token[:, None]], dim=1),
        last=token,
        scores=state.scores + torch.where(state.alive, log_probs, 0.0),
        lengths=lengths,
        ended=ended,
        alive=state.alive & ~ended & (lengths < limits),
    )


def finish(state: State) -> Found:
    """Give the one hypothesis of each row the axis that other strategies fill."""
    return Found(
        state.tokens[:, None], state.scores[:, None], state.lengths[:, None], state.ended[:, None]
    )


def search(
    step: Callable[[State], Float[Tensor, "batch vocab"]], limits: Int[Tensor, " batch"]
) -> Found:
    """Run until every row has ended; `step` scores the tokens after a state's last ones.

    The exported file runs `start`, `advance` and `finish` too, in a loop of its own.
    """
    state = start(limits)
    while bool(state.alive.any()):
        state = advance(state, step(state), limits)
    return finish(state)
