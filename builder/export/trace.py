"""The network and its search into two ONNX graphs: what comes before the loop, and one step."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map, tree_structure, tree_unflatten

from builder.nn.attention import KeyValue
from builder.nn.transformer import Memory, Transformer
from builder.search import greedy
from builder.search.greedy import State
from builder.search.limits import LengthRule

BATCH, SOURCE, TIME = {0: "batch"}, {0: "batch", 1: "source"}, {0: "batch", 1: "time"}
CROSS, CACHE = {0: "batch", 2: "source"}, {0: "batch", 2: "time"}
"""The open axes of tensors, by place and name."""
ROWS, SOURCE_TOKENS, STEPS = 3, 5, 4
"""The example's sizes, at least 2 and all different: 0 and 1 would be taken for constants, and
equal sizes for one."""
EXAMPLE_ID = 4


class Start(nn.Module):
    """Everything that is computed once for each sentence."""

    def __init__(self, model: Transformer, rule: LengthRule) -> None:
        super().__init__()
        self.model = model
        self.rule = rule

    def forward(
        self, source_ids: Int[Tensor, "batch source"], max_length: Int[Tensor, ""]
    ) -> tuple[Memory, Tensor, State, tuple[KeyValue, ...]]:
        """Return what every step reads, the memory and the limits, and what the first one takes."""
        memory = self.model.remember(source_ids)
        limits = self.rule.limits(memory.real.sum(dim=1), max_length)
        return memory, limits, greedy.start(limits), self.model.empty_caches(source_ids)


class Step(nn.Module):
    """One token of the search, with its network."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, state: State, caches: tuple[KeyValue, ...], memory: Memory, limits: Tensor
    ) -> tuple[Tensor, State, tuple[KeyValue, ...], Float[Tensor, "batch vocab"]]:
        """Return whether to go on, the next state and caches, and the logits (for the proof)."""
        logits, caches = self.model.step(state.last, state.position, memory=memory, caches=caches)
        state = greedy.advance(state, logits, limits)
        return state.alive.any(), state, caches, logits


@dataclass(frozen=True)
class Traced:
    """The two graphs; their values follow one another in the order of the modules above."""

    start: ir.Model
    """Inputs: source_ids, max_length. Outputs: the context, then what is carried."""
    step: ir.Model
    """Inputs: what is carried, then the context. Outputs: go on, what is carried, logits."""
    carried: int
    """How many values are carried."""


@torch.no_grad()
def trace(model: Transformer, rule: LengthRule, *, opset: int) -> Traced:
    """Export both graphs, with every batch size and length left open."""
    start, step = Start(model, rule).eval(), Step(model).eval()
    source_ids, max_length = torch.full((ROWS, SOURCE_TOKENS), EXAMPLE_ID), torch.tensor(20)
    memory, limits, state, caches = _example(*start(source_ids[:, :1], max_length))
    carried = (state, caches)
    context = (memory, limits)
    return Traced(
        start=_export(start, (source_ids, max_length), (SOURCE, None), opset),
        step=_export(step, (*carried, *context), _step_axes(*carried, *context), opset),
        carried=len(tree_leaves(carried)),
    )


def _example(
    memory: Memory, limits: Tensor, state: State, caches: tuple[KeyValue, ...]
) -> tuple[Memory, Tensor, State, tuple[KeyValue, ...]]:
    """Stretch what a source of one token and no step give to the sizes of an example.

    Only shapes count in it: real sources and steps of these sizes may be longer than the model
    has positions.
    """
    return (
        Memory(
            _stretched(memory.real, 1, SOURCE_TOKENS),
            tree_map(lambda cross: _stretched(cross, 2, SOURCE_TOKENS), memory.keys_values),
        ),
        limits,
        state._replace(tokens=_stretched(state.tokens, 1, STEPS)),
        tree_map(lambda cache: _stretched(cache, 2, STEPS), caches),
    )


def _stretched(tensor: Tensor, axis: int, size: int) -> Tensor:
    return tensor.new_zeros([*tensor.shape[:axis], size, *tensor.shape[axis + 1 :]])


def _step_axes(*example: Any) -> Any:
    """Name the open axes of everything that a step takes, in the structure of `example`."""
    layers = 2 * len(example[1])
    state = [None, TIME, BATCH, BATCH, BATCH, BATCH, BATCH]
    leaves = [*state, *[CACHE] * layers, SOURCE, *[CROSS] * layers, BATCH]
    return tree_unflatten(leaves, tree_structure(example))


def _export(module: nn.Module, example: tuple[Any, ...], axes: Any, opset: int) -> ir.Model:
    with _quiet():
        program = torch.onnx.export(
            module,
            example,
            dynamo=True,
            dynamic_shapes=axes,
            opset_version=opset,
            verbose=False,
        )
    if program is None or program.model.opset_imports[""] != opset:
        raise RuntimeError(f"the exporter did not write opset {opset}")
    return program.model


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter's notes about itself away from the user."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnx_ir", "onnxscript")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
