"""What must hold of the graph that a network is exported to."""

from __future__ import annotations

import onnx_ir as ir
import torch

from builder.blueprint.blueprint import Blueprint
from builder.export.join import join
from builder.export.lines import Batch
from builder.export.lively import lively
from builder.export.proof import Proof, compare_outputs, compare_steps
from builder.export.trace import trace
from builder.generate import length_rule, pad
from builder.nn.transformer import Transformer

from .invariants import build

STEPS = 24
"""Tokens of an output that are compared; fewer where positions end before."""
BATCHES = (
    Batch(pad([[2]]), STEPS),
    Batch(pad([[5, 2]]), STEPS),
    Batch(pad([[3, 6, 4, 7, 5, 3, 2]]), STEPS),
    Batch(pad([[4, 6, 5, 3, 6, 7, 4, 3, 2], [7, 2], [2], [3, 5, 7, 4, 2], [6, 6, 2]]), STEPS),
    Batch(pad([[6, 5, 4, 2], [7, 2]]), 1),
)
"""Sizes that are not traced: one token, two, seven, a ragged batch, rows that end at once."""


def check_export(blueprint: Blueprint, seed: int) -> Proof:
    """Compare the graphs with the network, the logits of steps and then whole outputs.

    Raises:
        ProofFailure: They differ.
    """
    network = lively_network(blueprint, seed)
    opset = blueprint.export.opset
    traced = trace(network, length_rule(blueprint.generation, network), opset=opset)
    difference = compare_steps(network, blueprint.generation, _bytes(traced.step), BATCHES)
    graph = _bytes(join(traced, opset=opset))
    proof = compare_outputs(network, blueprint.generation, graph, BATCHES)
    proof.logits_difference = difference
    proof.verdict()
    if not proof.varied:
        raise AssertionError("the outputs do not vary, so that nothing is shown")
    return proof


@torch.no_grad()
def lively_network(blueprint: Blueprint, seed: int) -> Transformer:
    """A network whose outputs vary, of whose norms and biases none is a plain 0 or 1."""
    return lively(build(blueprint, seed), blueprint.generation, BATCHES)


def _bytes(graph: ir.Model) -> bytes:
    return ir.to_proto(graph).SerializeToString()
