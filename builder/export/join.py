"""Two graphs into one that generates: the step becomes the body of a standard ONNX `Loop`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from builder.export.trace import Traced
from builder.search.limits import NO_LIMIT

OUTPUTS = {
    "target_ids": ("batch", "n_best", "target"),
    "scores": ("batch", "n_best"),
    "lengths": ("batch", "n_best"),
    "ended": ("batch", "n_best"),
}
"""Names and axes of what the file returns."""
STATE = {"target_ids": 1, "scores": 3, "lengths": 4, "ended": 5}
"""Where each output stands in the search's state."""


def join(traced: Traced, *, opset: int) -> ir.Model:
    """Put the step into a loop behind the start; both graphs are used up.

    Weights stand once, in the outer graph, whichever part reads them. `max_length` is an input
    with a default.
    """
    graph, step = traced.start.graph, traced.step.graph
    context = list(graph.outputs[: -traced.carried])
    first = list(graph.outputs[-traced.carried :])
    _forget_origins(graph)
    _forget_origins(step)
    _prefix_names(step, "step.")
    _hoist_initializers(step, graph)
    for inner, outer in zip(step.inputs[traced.carried :], context, strict=True):
        ir.convenience.replace_all_uses_with(inner, outer)

    body = _body(step, traced.carried, opset)
    go_on = _constant(graph, "go_on", np.array(True))
    loop = ir.node(
        "Loop",
        [None, go_on, *first],
        attributes={"body": body},
        outputs=[ir.val(f"search.{place}") for place in range(len(first))],
        name="search",
    )
    graph.append(loop)
    axis = _constant(graph, "n_best_axis", np.array([1]))
    graph.outputs.clear()
    graph.outputs.extend(_outputs(graph, loop, axis))
    _default(graph, "max_length", np.array(NO_LIMIT))
    graph.name = "transom"
    return ir.Model(graph, ir_version=10, producer_name="transom")


def _body(step: ir.Graph, carried: int, opset: int) -> ir.Graph:
    """Make the step's graph a loop body: it takes and ignores the iteration and the condition."""
    iteration = ir.val("iteration", ir.DataType.INT64, [])
    condition = ir.val("condition", ir.DataType.BOOL, [])
    inputs, outputs = list(step.inputs[:carried]), list(step.outputs[: carried + 1])
    for value in inputs + outputs[1:]:
        value.shape = None  # lengths differ from one iteration to the next
    nodes = list(step)
    step.inputs.clear()
    step.outputs.clear()
    step.remove(nodes)
    return ir.Graph(
        [iteration, condition, *inputs],
        outputs,
        nodes=nodes,
        opset_imports={"": opset},
        name="step",
    )


def _outputs(graph: ir.Graph, loop: ir.Node, axis: ir.Value) -> list[ir.Value]:
    """Give every output the axis of its n best."""
    outputs = []
    for name, axes in OUTPUTS.items():
        output = ir.val(name, _DTYPES[name], axes)
        state = loop.outputs[STATE[name]]
        graph.append(ir.node("Unsqueeze", [state, axis], outputs=[output], name=name))
        outputs.append(output)
    return outputs


_DTYPES = {
    "target_ids": ir.DataType.INT64,
    "scores": ir.DataType.FLOAT,
    "lengths": ir.DataType.INT64,
    "ended": ir.DataType.BOOL,
}


def _forget_origins(graph: ir.Graph) -> None:
    """Take out the exporter's notes, which hold paths of the machine."""
    for item in (*graph, *_values(graph), *graph.initializers.values(), graph):
        item.metadata_props.clear()
        if not isinstance(item, ir.Value):
            item.doc_string = None


def _prefix_names(graph: ir.Graph, prefix: str) -> None:
    """Keep the names of an inner graph apart from those around it."""
    for node in graph:
        node.name = prefix + (node.name or "")
    for value in _values(graph):
        value.name = prefix + (value.name or "")


def _values(graph: ir.Graph) -> Sequence[ir.Value]:
    computed = [value for node in graph for value in node.outputs]
    return [*graph.inputs, *computed]


def _hoist_initializers(inner: ir.Graph, outer: ir.Graph) -> None:
    """Move the weights of `inner` to `outer`, where an equal one takes the place of a second."""
    known = {_fingerprint(value): value for value in outer.initializers.values()}
    taken = {value.name for value in _values(outer)} | set(outer.initializers)
    for name, value in list(inner.initializers.items()):
        del inner.initializers[name]
        twin = known.get(_fingerprint(value))
        if twin is not None:
            ir.convenience.replace_all_uses_with(value, twin)
            continue
        value.name = f"step.{name}" if name in taken else name
        outer.register_initializer(value)


def _fingerprint(value: ir.Value) -> tuple[object, ...]:
    tensor = value.const_value
    if tensor is None:
        raise RuntimeError(f"the initializer {value.name} has no value")
    digest = hashlib.sha256(tensor.tobytes()).digest()
    return tensor.dtype, tuple(tensor.shape.numpy()), digest


def _constant(graph: ir.Graph, name: str, array: np.ndarray) -> ir.Value:
    value = ir.val(name, const_value=ir.tensor(array, name=name))
    graph.register_initializer(value)
    return value


def _default(graph: ir.Graph, name: str, array: np.ndarray) -> None:
    """Give the graph's input `name` a value for when the caller has none."""
    value = next(value for value in graph.inputs if value.name == name)
    value.const_value = ir.tensor(array, name=name)
    graph.register_initializer(value)
