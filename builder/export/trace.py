"""The parts of a generation into ONNX graphs, with every batch size and length left open."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir
import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_unflatten

from builder.decoding import Decoding, Kept
from builder.export.example import (
    ROWS,
    SOURCE,
    Example,
    of_carried,
    of_context,
    of_found,
    of_options,
    of_state,
    tensors,
)
from builder.search.options import Options


@dataclass(frozen=True)
class Traced:
    """The graphs of a generation; their values follow one another as in `builder.decoding`."""

    begin: ir.Model
    """From source_ids, the options and places to what is kept and what is found."""
    compact: ir.Model
    """From what is kept to what goes on of it."""
    step: ir.Model
    """From what is carried, the context and the options to: go on, what is carried, logits."""
    collect: ir.Model
    """From what is found, the numbers of rows and their state to: go on, what is found."""
    options: tuple[str, ...]
    """The names of the options, in their order."""
    context: int
    """How many values the context has."""
    carried: int
    """How many are carried, the state's first."""
    state: int
    """How many the state has."""


class Part(nn.Module):
    """One function of a `Decoding`, its arguments and results as lists of tensors."""

    def __init__(
        self, model: nn.Module, function: Callable[..., Any], arguments: Sequence[Any]
    ) -> None:
        super().__init__()
        self.model = model
        self.function = function
        leaves, self.structure = tree_flatten(list(arguments))
        self.there = [leaf is not None for leaf in leaves]

    def forward(self, leaves: list[Tensor]) -> list[Tensor]:
        """Call the function with its arguments, as they were before they were taken apart."""
        left = iter(leaves)
        every = [next(left) if there else None for there in self.there]
        return tensors(self.function(*tree_unflatten(every, self.structure)))


@torch.no_grad()
def trace(
    decoding: Decoding, options: Options, places: Int[Tensor, " beam"] | None, *, opset: int
) -> Traced:
    """Export the parts of `decoding`; of `options` and `places` only their presence counts."""
    beams = places is not None
    source_ids = torch.full((1, 1), 4)
    kept, found = decoding.begin(source_ids, options, places)
    asked, context = of_options(options), of_context(kept.context)
    carried, numbers = of_carried(kept.carried, beams=beams), Example(kept.numbers, [ROWS])
    state, every = of_state(kept.carried.state, beams=beams), of_found(found, beams=beams)
    sources, width = Example(source_ids, [SOURCE]), Example(places, [{0: "beam"}] * beams)

    def part(function: Callable[..., Any], *examples: Example) -> ir.Model:
        return _export(Part(decoding.model, function, [e.value for e in examples]), examples, opset)

    def compact(*parts: Any) -> Kept:
        return decoding.compact(Kept(*parts))

    return Traced(
        begin=part(decoding.begin, sources, asked, width),
        compact=part(compact, numbers, context, carried),
        step=part(decoding.step, carried, context, asked),
        collect=part(decoding.collect, every, numbers, state),
        options=tuple(name for name in Options._fields if getattr(options, name) is not None),
        context=len(context.axes),
        carried=len(carried.axes),
        state=len(state.axes),
    )


def _export(module: Part, examples: Sequence[Example], opset: int) -> ir.Model:
    leaves = [leaf for example in examples for leaf in example.stretched]
    axes = [axes or None for example in examples for axes in example.axes]
    with _quiet():
        program = torch.onnx.export(
            module.eval(),
            (leaves,),
            dynamo=True,
            dynamic_shapes=(axes,),
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
