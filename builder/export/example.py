"""Values of the sizes of an example, for tracing: only their shapes count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.utils._pytree import tree_leaves

from builder.decoding import Carried, Context
from builder.search.found import Found
from builder.search.options import Options
from builder.search.search import State

SIZES = {"batch": 3, "source": 5, "time": 4, "slots": 7, "beam": 2, "prefix": 6, "all": 8}
"""At least 2 and all different: 0 and 1 would be taken for constants, and equal sizes for one."""

Axes = dict[int, str]
"""The open axes of a tensor, by place."""
ROWS: Axes = {0: "batch"}
SOURCE: Axes = {0: "batch", 1: "source"}
PREFIX: Axes = {0: "batch", 1: "prefix"}
CROSS: Axes = {0: "batch", 2: "source"}
CACHE: Axes = {0: "batch", 2: "slots"}
HYPOTHESES: Axes = {0: "batch", 1: "beam"}
TOKENS: Axes = {**HYPOTHESES, 2: "time"}
FOUND: list[Axes] = [TOKENS, HYPOTHESES, HYPOTHESES, HYPOTHESES]
STATE: dict[str, list[Axes]] = {
    "position": [{}],
    "last": [HYPOTHESES],
    "tokens": [TOKENS],
    "scores": [HYPOTHESES],
    "lengths": [HYPOTHESES],
    "ended": [HYPOTHESES],
    "finished": FOUND,
    "alive": [ROWS],
    "ancestors": [{**HYPOTHESES, 2: "slots"}],
}


def tensors(value: Any) -> list[Tensor]:
    """Return the tensors of a structure in their order; what is None is left out."""
    return [leaf for leaf in tree_leaves(value) if leaf is not None]


@dataclass(frozen=True)
class Example:
    """A structure of tensors with the open axes of each."""

    value: Any
    axes: list[Axes]

    @property
    def stretched(self) -> list[Tensor]:
        """The tensors, zeros, with their open axes as long as `SIZES` says."""
        pairs = zip(tensors(self.value), self.axes, strict=True)
        return [
            tensor.new_zeros(
                [SIZES.get(axes.get(place, ""), size) for place, size in enumerate(tensor.shape)]
            )
            for tensor, axes in pairs
        ]


def of_options(options: Options) -> Example:
    """Describe the options that are there."""
    there = [name for name in Options._fields if getattr(options, name) is not None]
    return Example(options, [PREFIX if name == "target_prefix" else {} for name in there])


def of_context(context: Context) -> Example:
    """Describe what steps only read."""
    cross = [CROSS] * len(tensors(context.memory.keys_values))
    rows = {"limits": ROWS, "keys": ROWS, "target_prefix": PREFIX}
    there = [name for name in context.rows._fields if getattr(context.rows, name) is not None]
    return Example(context, [SOURCE, *cross, *(rows[name] for name in there)])


def of_carried(carried: Carried, *, beams: bool) -> Example:
    """Describe what a step takes from the one before; without `beams` there is one."""
    axes = [*of_state(carried.state, beams=beams).axes, *[CACHE] * len(tensors(carried.caches))]
    return Example(carried, axes)


def of_state(state: State, *, beams: bool) -> Example:
    """Describe the state of a search."""
    there = [name for name in state._fields if getattr(state, name) is not None]
    return Example(state, _open([axes for name in there for axes in STATE[name]], beams))


def of_found(found: Found, *, beams: bool) -> Example:
    """Describe what is found for all sources, of which some rows are left."""
    return Example(found, _open([{**axes, 0: "all"} for axes in FOUND], beams))


def _open(every: list[Axes], beams: bool) -> list[Axes]:
    """Close the axis of beams where it has one place for ever."""
    return [
        {place: name for place, name in axes.items() if beams or name != "beam"} for axes in every
    ]
