"""What must hold of the graph that a network is exported to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from builder.blueprint.blueprint import Blueprint
from builder.decoding import Decoding
from builder.export.build import build as build_graphs
from builder.export.lines import Batch
from builder.export.lively import lively
from builder.export.proof import Proof, compare_outputs, compare_steps
from builder.export.side_data import Drafts
from builder.generate import Generator, pad
from builder.options import options_of
from builder.search.constraints import Rules
from builder.search.limits import LengthRule
from builder.search.search import Search

from .invariants import build

STEPS = 24
"""Tokens of an output that are compared; fewer where positions end before."""
SOURCES = (
    [[2]],
    [[5, 2]],
    [[3, 6, 4, 7, 5, 3, 2]],
    [[4, 6, 5, 3, 6, 7, 4, 3, 2], [7, 2], [2], [3, 5, 7, 4, 2], [6, 6, 2]],
)
BATCHES = (
    *(Batch(pad(rows), {"max_length": STEPS}) for rows in SOURCES),
    Batch(pad([[6, 5, 4, 2], [7, 2]]), {"max_length": 1}),
)
"""Sizes that are not traced: one token, two, seven, a ragged batch, rows that end at once."""


def check_export(blueprint: Blueprint, seed: int) -> Proof:
    """Compare the graphs with the network, the logits of steps and then whole outputs.

    Raises:
        ProofFailure: They differ.
    """
    generator = lively(generator_of(blueprint, seed), BATCHES)
    room = Drafts(Path("fuzz.onnx"))
    graph, step = build_graphs(generator, blueprint.export, room)
    difference = compare_steps(generator, step, BATCHES)
    proof = compare_outputs(generator, room.content(graph), BATCHES)
    proof.logits_difference = difference
    proof.verdict()
    if not proof.varied:
        raise AssertionError("the outputs do not vary, so that nothing is shown")
    return proof


@torch.no_grad()
def generator_of(blueprint: Blueprint, seed: int) -> Generator:
    """The network of a blueprint and its search; of norms and biases none is a plain 0 or 1.

    There is no text, and so no tokens that are named by it.
    """
    network, strategy = build(blueprint, seed), blueprint.generation
    limit = LengthRule.of(
        strategy.max_length.ratio, strategy.max_length.plus, network.target_embedding.max_length
    )
    rules = Rules(strategy.no_repeat_ngram_size or 0)
    decoding = Decoding(network, Search(strategy.kind, limit, rules))
    nothing: Any = None
    return Generator(decoding, nothing, nothing, options_of(strategy), strategy.target_prefix)
