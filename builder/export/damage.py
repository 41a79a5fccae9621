"""How much rounding a weight changes what is computed with it, on real lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import onnx_ir as ir

from builder.export.int8 import (
    Int8,
    Site,
    Weights,
    find_sites,
    graph_of,
    home_of_weights,
    is_weight,
    numbers,
)
from builder.export.precision import LARGEST
from builder.export.side_data import Drafts

TINY = 1e-30
"""Takes the place of nothing, to divide by."""

Feed = Mapping[str, np.ndarray]


def of_products(
    graph: ir.Model, weights: Weights, feeds: Sequence[Feed], room: Drafts
) -> dict[str, float]:
    """Return the relative error of what each weight gives, with the other weights in float32.

    Every product is computed in both ways while the float32 file, which is `graph` and is used up,
    writes its outputs for `feeds`; the squares are summed over all steps and lines.
    """
    outer = graph.graph
    sites = [site for site in find_sites(outer) if np.isfinite(numbers(site.weight)).all()]
    writer = Int8(home_of_weights(outer), weights, sites)
    constants = _Constants.register(outer)
    owners = _owners(outer)
    for number, site in enumerate(sites):
        nodes, sums = _compare(site, writer.nodes(site), constants, f"damage.{number}")
        graph_of(site.node).insert_after(site.node, nodes)
        outer.outputs.append(_lift(sums, owners, constants))
    engine = room.content(graph).open()
    names = [value.name for value in engine.get_outputs()][-len(sites) :]
    totals: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(2))
    for feed in feeds:
        for site, sums_of_one in zip(sites, engine.run(names, feed), strict=True):
            totals[str(site.weight.name)] += sums_of_one
    return {name: _relative(*sums) for name, sums in totals.items()}


def of_halves(graph: ir.Model) -> dict[str, float]:
    """Return the relative error of each weight itself, in float16."""
    found = {}
    for name, value in home_of_weights(graph.graph).initializers.items():
        if is_weight(value):
            array = numbers(value)[np.isfinite(numbers(value))].astype(np.float64)
            half = np.clip(array, -LARGEST, LARGEST).astype(np.float16)
            found[name] = _relative(((array - half) ** 2).sum(), (array**2).sum())
    return found


class _Constants(NamedTuple):
    """Small numbers that the comparison reads."""

    nought: ir.Value
    nothing: ir.Value
    one_axis: ir.Value
    first: ir.Value

    @classmethod
    def register(cls, graph: ir.Graph) -> _Constants:
        """Put them into the outermost graph."""
        values = []
        for name, array in (
            ("nought", np.array(0, np.float32)),
            ("nothing", np.zeros(2, np.float32)),
            ("one_axis", np.array([1])),
            ("first", np.array([0])),
        ):
            values.append(ir.val(f"damage.{name}", const_value=ir.tensor(array)))
            graph.register_initializer(values[-1])
        return cls(*values)


def _compare(
    site: Site, nodes: list[ir.Node], constants: _Constants, name: str
) -> tuple[list[ir.Node], ir.Value]:
    """Square and sum, over finite places, what `nodes` miss and what the node itself gives."""
    exact, rounded = site.node.outputs[0], nodes[-1].outputs[0]

    def add(operator: str, *inputs: ir.Value, **attributes: int) -> ir.Value:
        output = ir.val(f"{name}.{len(nodes)}")
        nodes.append(ir.node(operator, inputs, attributes=attributes, outputs=[output]))
        return output

    infinite = add("IsInf", exact)
    sums = []
    for value in (add("Sub", exact, rounded), exact):
        finite = add("Where", infinite, constants.nought, value)
        total = add("ReduceSumSquare", finite, keepdims=0)
        sums.append(add("Reshape", total, constants.one_axis))
    return nodes, add("Concat", *sums, axis=0)


def _lift(value: ir.Value, owners: Mapping[ir.Graph, ir.Node], constants: _Constants) -> ir.Value:
    """Bring a value out of the graphs that it is computed in, summed over the iterations."""
    producer = value.producer()
    if producer is None:
        raise RuntimeError(f"{value.name}: nothing computes it")
    graph = graph_of(producer)
    while graph in owners:
        owner = owners[graph]
        _type(value)
        graph.outputs.append(value)
        if owner.op_type == "If":
            _without(owner, graph, constants)
        owner.resize_outputs(len(owner.outputs) + 1)
        lifted = owner.outputs[-1]
        lifted.name = f"{value.name}.all"
        graph = graph_of(owner)
        if owner.op_type == "Loop":
            node = _sum(lifted, constants)
            graph.insert_after(owner, node)
            lifted = node.outputs[0]
        value = lifted
    _type(value)
    return value


def _type(value: ir.Value) -> None:
    value.type, value.shape = ir.TensorType(ir.DataType.FLOAT), ir.Shape([2])


def _without(choice: ir.Node, graph: ir.Graph, constants: _Constants) -> None:
    """Let the other branch of `choice` give nothing where `graph` gives one more value."""
    for attribute in choice.attributes.values():
        other = attribute.as_graph()
        if other is not graph:
            name = f"{graph.outputs[-1].name}.nothing"
            node = ir.node("Identity", [constants.nothing], outputs=[ir.val(name)])
            _type(node.outputs[0])
            other.append(node)
            other.outputs.append(node.outputs[0])


def _sum(every: ir.Value, constants: _Constants) -> ir.Node:
    """Add up what a loop gives of all its iterations."""
    total = ir.val(f"{every.name}.sum")
    sums = {"keepdims": 0}
    return ir.node("ReduceSum", [every, constants.first], attributes=sums, outputs=[total])


def _owners(graph: ir.Graph) -> dict[ir.Graph, ir.Node]:
    """Which node each inner graph belongs to."""
    return {
        attribute.as_graph(): node
        for node in ir.traversal.RecursiveGraphIterator(graph)
        for attribute in node.attributes.values()
        if attribute.type == ir.AttributeType.GRAPH
    }


def _relative(error: float, whole: float) -> float:
    """The error of a sum of squares, as a share of the whole's size."""
    return float(np.sqrt(error / max(whole, TINY)))
