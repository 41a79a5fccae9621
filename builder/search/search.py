"""One strategy, with all about it that never changes: how a search begins, goes on and ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from builder.search import beam, independent
from builder.search.constraints import Rules, barred
from builder.search.found import PAD_ID, Found
from builder.search.limits import LengthRule
from builder.search.options import Options
from builder.search.sampling import draw, source_keys

State = independent.State | beam.State


class Rows(NamedTuple):
    """What a search knows of each source."""

    limits: Int[Tensor, " batch"]
    """The most tokens of its outputs, EOS counted."""
    keys: Int[Tensor, " batch"] | None
    """What a source's draws depend on; None where nothing is drawn."""
    target_prefix: Int[Tensor, "batch prefix"] | None


@dataclass(frozen=True)
class Search:
    """A strategy, its limits and what it may not write."""

    kind: Literal["greedy", "sampling", "beam"]
    lengths: LengthRule
    rules: Rules = field(default_factory=Rules)

    def begin(
        self,
        source_ids: Int[Tensor, "batch source"],
        options: Options,
        places: Int[Tensor, " beam"] | None = None,
    ) -> tuple[Rows, State]:
        """Return what is known of sources and the state before the first step.

        `places` numbers the hypotheses of each source from 0; a greedy search has one.
        """
        limits = self.lengths.limits((source_ids != PAD_ID).sum(dim=1), options.max_length)
        keys = source_keys(source_ids) if self.kind == "sampling" else None
        rows = Rows(limits, keys, options.target_prefix)
        if self.kind == "greedy":
            return rows, independent.start(limits)
        if places is None:
            raise RuntimeError("the number of hypotheses is needed")
        if self.kind == "sampling":
            return rows, independent.start(limits, places)
        dtype = torch.float32 if options.length_penalty is None else options.length_penalty.dtype
        return rows, beam.start(limits, places, dtype)

    def advance(
        self,
        state: State,
        logits: Float[Tensor, "batch beam vocab"],
        rows: Rows,
        options: Options,
    ) -> State:
        """Return the state after one more token of every hypothesis that goes on."""
        options = options._replace(target_prefix=rows.target_prefix)
        if isinstance(state, beam.State):
            others = options._replace(min_length=None)  # beams see to it without a mask
            closed = barred(self.rules, others, state.tokens, logits.shape[2])
            return beam.advance(state, logits, rows.limits, options, closed)
        closed = barred(self.rules, options, state.tokens, logits.shape[2])
        if rows.keys is None:
            choice, log_probs = independent.likeliest(logits, closed)
            return independent.advance(state, choice, log_probs, rows.limits)
        known = logits.to(torch.float32).log_softmax(dim=-1)
        allowed = known if closed is None else known.masked_fill(closed, float("-inf"))
        choice = draw(allowed, rows.keys, state.position, options)
        log_probs = known.gather(2, choice[..., None]).squeeze(2)
        return independent.advance(state, choice, log_probs, rows.limits)

    def finish(self, state: State) -> Found:
        """Return what every hypothesis has come to."""
        return beam.finish(state) if isinstance(state, beam.State) else independent.finish(state)
