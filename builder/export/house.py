"""A graph that traced parts move into, with one home for their weights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

Values = list[ir.Value]


class House:
    """A graph whose initializers serve it and all graphs inside it."""

    def __init__(self, graph: ir.Graph) -> None:
        self.graph = graph
        self._known: dict[tuple[object, ...], ir.Value] = {}

    def move_in(
        self, room: ir.Graph, part: ir.Model, prefix: str, given: Sequence[ir.Value]
    ) -> Values:
        """Append the nodes of `part` to `room`, which hands it `given`; return its outputs.

        Names get the `prefix`, but for those of weights; an equal weight that is known already
        takes the place of a second.
        """
        inner = part.graph
        forget_origins(inner)
        for each in inner:
            each.name = prefix + (each.name or "")
        for value in _values(inner):
            value.name = prefix + (value.name or "")
            value.shape = None  # lengths differ from one iteration to the next
        outputs = list(inner.outputs)
        inner.outputs.clear()
        others = dict(zip(inner.inputs, given, strict=True)) | self._hoist(inner, prefix)
        for value, other in others.items():
            ir.convenience.replace_all_uses_with(value, other)
        nodes = list(inner)
        inner.remove(nodes)
        room.extend(nodes)
        return [others.get(value, value) for value in outputs]

    def _hoist(self, inner: ir.Graph, prefix: str) -> dict[ir.Value, ir.Value]:
        """Move the weights of `inner` here; return those that are known, with their twins."""
        twins = {}
        for name, value in list(inner.initializers.items()):
            del inner.initializers[name]
            twin = self._known.setdefault(_fingerprint(value), value)
            if twin is not value:
                twins[value] = twin
                continue
            value.name = (
                name if "." in name and name not in self.graph.initializers else prefix + name
            )
            self.graph.register_initializer(value)
        return twins

    def constant(self, name: str, array: np.ndarray) -> ir.Value:
        """Return a new initializer."""
        value = ir.val(name, const_value=ir.tensor(array, name=name))
        self.graph.register_initializer(value)
        return value

    def returns(self, room: ir.Graph, outputs: Sequence[ir.Value]) -> None:
        """Let `room` return values; one that is not made in it goes through a node of its own."""
        for place, value in enumerate(outputs):
            made = value.producer()
            is_new = made is not None and made.graph is room and value not in room.outputs
            given = (
                [value]
                if is_new
                else node(room, "Identity", [value], f"{room.name}.out.{place}", 1)
            )
            room.outputs.extend(given)


def inner_graph(name: str, inputs: Sequence[ir.Value], opset: int) -> ir.Graph:
    """Return a graph without nodes yet."""
    return ir.Graph(inputs, [], nodes=[], opset_imports={"": opset}, name=name)


def node(
    graph: ir.Graph,
    kind: str,
    inputs: Sequence[ir.Value | None],
    name: str,
    count: int,
    **graphs: ir.Graph,
) -> Values:
    """Append a node and return its outputs, which are called as it is."""
    names = [name] if count == 1 else [f"{name}.{place}" for place in range(count)]
    outputs = [ir.val(each) for each in names]
    if kind == "Identity" and inputs[0] is not None:
        outputs[0].type = inputs[0].type
    graph.append(ir.node(kind, inputs, attributes=graphs, outputs=outputs, name=name))
    return outputs


def scalar(value: float) -> np.ndarray:
    """Return an option as the graph holds it."""
    return np.array(value, np.float32 if isinstance(value, float) else np.int64)


def forget_origins(graph: ir.Graph) -> None:
    """Take out the exporter's notes, which hold paths of the machine."""
    for item in (*graph, *_values(graph), *graph.initializers.values(), graph):
        item.metadata_props.clear()
        if not isinstance(item, ir.Value):
            item.doc_string = None


def _values(graph: ir.Graph) -> Values:
    computed = [value for each in graph for value in each.outputs]
    return [*graph.inputs, *computed]


def _fingerprint(value: ir.Value) -> tuple[object, ...]:
    tensor = value.const_value
    if tensor is None:
        raise RuntimeError(f"the initializer {value.name} has no value")
    digest = hashlib.sha256(tensor.tobytes()).digest()
    return tensor.dtype, tuple(tensor.shape.numpy()), digest
