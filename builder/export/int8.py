"""Matrix products and embedding tables into 8 bits, in standard operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import onnx_ir as ir

Weights = Literal["uint8", "int7"]

TOKENS = ".tokens.weight"
"""How the name of an embedding table ends."""
POSITIONS = ".positions."
"""What names the tables of positions, which stay as they are."""


class Site(NamedTuple):
    """A node that reads a weight."""

    node: ir.Node
    weight: ir.Value
    by_row: bool
    """The weight is [out, in], not [in, out]; of a lookup, always."""
    is_lookup: bool


class Integers(NamedTuple):
    """A weight in 8 bits: `scale` times the values less `zero`."""

    values: np.ndarray
    """[in, out]"""
    scale: np.ndarray
    """[out]"""
    zero: np.ndarray
    """One for all."""


class Stored(NamedTuple):
    """The same in a graph."""

    values: ir.Value
    """[in, out], as a product reads it."""
    rows: ir.Value | None
    """[out, in], where a lookup reads it."""
    scale: ir.Value
    zero: ir.Value


def quantise(weight: np.ndarray, weights: Weights) -> Integers:
    """Round [in, out] weights, every output channel to a scale of its own.

    Processors without VNNI add two products of 8 bits in 16 and saturate there. Unsigned weights
    take other instructions; signed ones of at most ±64 stay below: 2 · 255 · 64 < 2¹⁵.
    """
    largest, zero, dtype = (127, 128, np.uint8) if weights == "uint8" else (64, 0, np.int8)
    scale = np.abs(weight).max(axis=0) / np.float32(largest)
    scale[scale < np.finfo(np.float32).tiny] = 1.0
    return Integers((np.rint(weight / scale) + zero).astype(dtype), scale, np.array(zero, dtype))


def find_sites(graph: ir.Graph) -> list[Site]:
    """Find every product with a weight and every lookup in a table of tokens, at any depth."""
    nodes = list(ir.traversal.RecursiveGraphIterator(graph))
    products = [site for node in nodes for site in _product(node)]
    multiplied = {site.weight for site in products}
    lookups = [site for node in nodes for site in _lookup(node, multiplied)]
    return lookups + products


def home_of_weights(graph: ir.Graph) -> ir.Graph:
    """Return the graph that the weights are stored in: `graph` or one inside it."""
    inner = {
        attribute.as_graph()
        for node in ir.traversal.RecursiveGraphIterator(graph)
        for attribute in node.attributes.values()
        if attribute.type == ir.AttributeType.GRAPH
    }
    return max([graph, *inner], key=lambda one: sum(map(is_weight, one.initializers.values())))


def is_weight(value: ir.Value | None) -> bool:
    """Tell whether `value` is a constant float32 matrix."""
    if value is None or not value.is_initializer() or value.is_graph_input():
        return False
    tensor = value.const_value
    if tensor is None or tensor.dtype != ir.DataType.FLOAT:
        return False
    return len(tensor.shape) == 2 and tensor.size > 0


def numbers(value: ir.Value) -> np.ndarray:
    """The numbers of an initializer."""
    if value.const_value is None:
        raise RuntimeError(f"the initializer {value.name} has no value")
    return value.const_value.numpy()


def graph_of(node: ir.Node) -> ir.Graph:
    """The graph that `node` stands in."""
    if not isinstance(node.graph, ir.Graph):
        raise RuntimeError(f"{node.name}: a node outside of every graph")
    return node.graph


def _product(node: ir.Node) -> Iterator[Site]:
    if node.op_type not in ("MatMul", "Gemm") or not is_weight(node.inputs[1]):
        return
    plain = {"transA": 0, "alpha": 1.0, "beta": 1.0}
    given = {name: attribute.value for name, attribute in node.attributes.items()}
    if any(given.get(name, value) != value for name, value in plain.items()):
        return
    weight = node.inputs[1]
    if weight is not None and POSITIONS not in (weight.name or ""):
        yield Site(node, weight, by_row=bool(given.get("transB", 0)), is_lookup=False)


def _lookup(node: ir.Node, multiplied: set[ir.Value]) -> Iterator[Site]:
    table = node.inputs[0] if node.op_type == "Gather" else None
    if table is None or not is_weight(table) or _axis(node) != 0:
        return
    if table in multiplied or (table.name or "").endswith(TOKENS):
        yield Site(node, table, by_row=True, is_lookup=True)


def _axis(node: ir.Node) -> int:
    attribute = node.attributes.get("axis")
    return attribute.as_int() if attribute else 0


class Int8:
    """Writes what stands in for sites, each weight once and each input quantised once.

    A table that is looked up lies in the file by rows, so that a lookup reads one stretch of
    memory; a product reads its transpose, which ONNX Runtime makes when it loads the file.
    """

    def __init__(self, graph: ir.Graph, weights: Weights, sites: list[Site]) -> None:
        self._graph = graph
        self._weights = weights
        self._looked_up = {site.weight for site in sites if site.is_lookup}
        self._stored: dict[tuple[ir.Value, bool], Stored] = {}
        self._inputs: dict[tuple[ir.Graph, ir.Value], ir.Node] = {}

    def nodes(self, site: Site) -> list[ir.Node]:
        """Return the nodes that do in 8 bits what the node of `site` does; the last one ends it."""
        return self._lookup(site) if site.is_lookup else self._product(site)

    def _product(self, site: Site) -> list[ir.Node]:
        stored, name = self._store(site), str(site.node.outputs[0].name)
        source, graph = site.node.inputs[0], graph_of(site.node)
        if source is None:
            raise RuntimeError(f"{name}: a product of nothing")
        nodes = []
        quantised = self._inputs.get((graph, source))
        if quantised is None:
            outputs = [ir.val(f"{name}.{part}") for part in ("input", "input_scale", "input_zero")]
            quantised = ir.node("DynamicQuantizeLinear", [source], outputs=outputs)
            self._inputs[graph, source] = quantised
            nodes.append(quantised)
        values, scale, zero = quantised.outputs
        total = _node("MatMulInteger", [values, stored.values, zero, stored.zero], f"{name}.total")
        number = _cast(total, f"{name}.number")
        both = _node("Mul", [scale, stored.scale], f"{name}.scale")
        nodes += [total, number, both, _node("Mul", [_out(number), _out(both)], f"{name}.product")]
        bias = site.node.inputs[2] if len(site.node.inputs) > 2 else None
        if bias is not None:
            nodes.append(_node("Add", [_out(nodes[-1]), bias], f"{name}.sum"))
        return nodes

    def _lookup(self, site: Site) -> list[ir.Node]:
        stored, name = self._store(site), str(site.node.outputs[0].name)
        ids = site.node.inputs[1]
        if stored.rows is None:
            raise RuntimeError(f"{name}: the table is not stored by rows")
        last = self._constant("int8.last_axis", np.array([-1]))
        row = _node("Gather", [stored.rows, ids], f"{name}.row")
        nodes = [row, _cast(row, f"{name}.number")]
        zero = numbers(stored.zero).astype(np.float32)
        if zero:
            centre = self._constant("int8.table_zero", zero)
            nodes.append(_node("Sub", [_out(nodes[-1]), centre], f"{name}.centred"))
        scale = _node("Gather", [stored.scale, ids], f"{name}.row_scale")
        column = _node("Unsqueeze", [_out(scale), last], f"{name}.scale")
        product = _node("Mul", [_out(nodes[-1]), _out(column)], f"{name}.product")
        return [*nodes, scale, column, product]

    def _store(self, site: Site) -> Stored:
        key = site.weight, site.by_row
        if key not in self._stored:
            self._stored[key] = self._write(site)
        return self._stored[key]

    def _write(self, site: Site) -> Stored:
        """Put the weight of `site` where the others are."""
        array, name = numbers(site.weight), str(site.weight.name)
        integers = quantise(array.T if site.by_row else array, self._weights)
        in_rows = site.by_row and site.weight in self._looked_up
        name = name if in_rows or not site.by_row else f"{name}.transposed"
        values = integers.values.T if in_rows else integers.values
        kept = self._constant(f"{name}.{self._weights}", np.ascontiguousarray(values))
        scale = self._constant(f"{name}.scale", integers.scale)
        zero = self._constant("int8.weight_zero", integers.zero)
        if not in_rows:
            return Stored(kept, None, scale, zero)
        turned = _node("Transpose", [kept], f"{name}.columns", perm=[1, 0])
        self._graph.insert_before(self._graph[0], turned)
        return Stored(_out(turned), kept, scale, zero)

    def _constant(self, name: str, array: np.ndarray) -> ir.Value:
        known = self._graph.initializers.get(name)
        if known is not None:
            return known
        value = ir.val(name, const_value=ir.tensor(array, name=name))
        self._graph.register_initializer(value)
        return value


def _node(
    operator: str, inputs: list[ir.Value | None], name: str, **attributes: list[int]
) -> ir.Node:
    return ir.node(operator, inputs, attributes=attributes, outputs=[ir.val(name)], name=name)


def _cast(node: ir.Node, name: str) -> ir.Node:
    to = {"to": ir.DataType.FLOAT.value}
    return ir.node("Cast", [_out(node)], attributes=to, outputs=[ir.val(name)], name=name)


def _out(node: ir.Node) -> ir.Value:
    return node.outputs[0]
