"""A network and a search into outputs: the parts that PyTorch runs and that export traces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.utils._pytree import tree_map

from builder.nn.attention import KeyValue
from builder.nn.transformer import Memory, Transformer
from builder.search.found import Found, collect
from builder.search.options import Options
from builder.search.search import Rows, Search, State

T = TypeVar("T")


class Context(NamedTuple):
    """What steps only read; the first axis of everything is that of the rows."""

    memory: Memory
    rows: Rows


class Carried(NamedTuple):
    """What a step takes from the one before."""

    state: State
    caches: tuple[KeyValue, ...]


class Kept(NamedTuple):
    """The rows that go on, and all that belongs to them."""

    numbers: Int[Tensor, " rows"]
    """Which of the sources they are."""
    context: Context
    carried: Carried


@dataclass(frozen=True)
class Decoding:
    """The parts of a generation, none of which branches on a tensor's value.

    `begin`; then, while any row is alive: `compact`, `step` while most of the rows are alive, and
    `collect`. So rows that have ended soon cost nothing.
    """

    model: Transformer
    search: Search

    def begin(
        self,
        source_ids: Int[Tensor, "batch source"],
        options: Options,
        places: Int[Tensor, " beam"] | None,
    ) -> tuple[Kept, Found]:
        """Read the sources; nothing of them is found yet."""
        rows, state = self.search.begin(source_ids, options, places)
        numbers = torch.arange(source_ids.shape[0], device=source_ids.device)
        context = Context(self.model.remember(source_ids), rows)
        carried = Carried(state, self.model.empty_caches(source_ids))
        return Kept(numbers, context, carried), self.search.finish(state)

    def compact(self, kept: Kept) -> Kept:
        """Leave out the rows that have ended."""
        return _taken(kept, kept.carried.state.alive.nonzero().squeeze(1))

    def step(
        self, carried: Carried, context: Context, options: Options
    ) -> tuple[Bool[Tensor, ""], Carried, Float[Tensor, "batch beam vocab"]]:
        """Write one token; return whether most rows go on, and the logits too."""
        state, caches = carried
        logits, caches = self.model.step(
            state.last,
            state.position,
            memory=context.memory,
            caches=caches,
            ancestors=state.ancestors,
        )
        state = self.search.advance(state, logits, context.rows, options)
        return 2 * state.alive.sum() > state.alive.shape[0], Carried(state, caches), logits

    def collect(
        self, found: Found, numbers: Int[Tensor, " rows"], state: State
    ) -> tuple[Bool[Tensor, ""], Found]:
        """Write what the rows have come to into what is found; return whether any goes on."""
        return state.alive.any(), collect(found, numbers, self.search.finish(state))

    @torch.no_grad()
    def generate(
        self,
        source_ids: Int[Tensor, "batch source"],
        options: Options,
        places: Int[Tensor, " beam"] | None = None,
    ) -> Found:
        """Search targets of padded sources, each within its own limit."""
        kept, found = self.begin(source_ids, options, places)
        any_left = bool(kept.carried.state.alive.any())
        while any_left:
            kept = self.compact(kept)
            carried, go_on = kept.carried, True
            while go_on:
                more, carried, _ = self.step(carried, kept.context, options)
                go_on = bool(more)
            kept = kept._replace(carried=carried)
            more, found = self.collect(found, kept.numbers, carried.state)
            any_left = bool(more)
        return found


def _taken(values: T, rows: Int[Tensor, " rows"]) -> T:
    """Take rows of everything in `values` that has any."""

    def take(value: Tensor | None) -> Tensor | None:
        return value.index_select(0, rows) if value is not None and value.dim() else value

    return tree_map(take, values)
