"""The graphs of a generation into one: a loop within a loop, both standard ONNX `Loop`s."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx_ir as ir

from builder.export.house import House, Values, inner_graph, node, scalar
from builder.export.trace import Traced

OUTPUTS = {
    "target_ids": (ir.DataType.INT64, ("batch", "n_best", "target")),
    "scores": (ir.DataType.FLOAT, ("batch", "n_best")),
    "lengths": (ir.DataType.INT64, ("batch", "n_best")),
    "ended": (ir.DataType.BOOL, ("batch", "n_best")),
}
"""Types and axes of what the file returns."""


def join(
    traced: Traced,
    options: Mapping[str, int | float],
    *,
    inputs: Sequence[str],
    defaults: bool = True,
) -> ir.Model:
    """Put the parts of a generation into one graph; they are used up.

    The outer loop begins, in its first iteration, and later leaves out the rows that have ended; it
    lasts while any is left. The inner one steps while most of them go on. All weights stand in the
    outer loop's body, once, whichever part reads them: ONNX Runtime prepares weights for quick
    products in the graph of the product and in the next one around it, no farther.

    `inputs` are the graph's besides `source_ids`; with `defaults`, those of `options` have a value
    where a call gives none.
    """
    given = {
        name: ir.Value(name=name, type=value.type, shape=value.shape)
        for name, value in zip(_names(traced), traced.begin.graph.inputs, strict=False)
    }
    for name in inputs:
        given.setdefault(name, ir.val(name, ir.DataType.INT64, []))
    asked = [given[name] for name in ("source_ids", *inputs)]
    graph = inner_graph("transom", asked, traced.begin.opset_imports[""])
    found = _Search(graph, traced, given).outputs()
    _returns(graph, found, given["n_best"] if "beams" in given else None)
    for name, default in options.items() if defaults else ():
        given[name].const_value = ir.tensor(scalar(default), name=name)
        graph.register_initializer(given[name])
    return ir.Model(graph, ir_version=10, producer_name="transom")


def _names(traced: Traced) -> list[str]:
    return ["source_ids", *traced.options]


class _Search:
    """The loops, while the parts move into them."""

    def __init__(self, graph: ir.Graph, traced: Traced, given: Mapping[str, ir.Value]) -> None:
        self.graph = graph
        self.traced = traced
        self.given = given
        self.opset = graph.opset_imports[""]
        begun = traced.begin.graph
        self.places = [self._places()] if len(begun.inputs) > len(_names(traced)) else []
        self.first = [self._nothing(place, value) for place, value in enumerate(begun.outputs)]
        head = [
            ir.val("rows.iteration", ir.DataType.INT64, []),
            ir.val("rows.condition", ir.DataType.BOOL, []),
        ]
        self.carried = [_like(f"rows.in.{place}", v) for place, v in enumerate(self.first)]
        self.house = House(inner_graph("rows", [*head, *self.carried], self.opset))

    def outputs(self) -> Values:
        """Append the outer loop; return what it has found at the end."""
        traced, house = self.traced, self.house
        kept, found = self._begun()
        numbers, context = kept[:1], kept[1 : 1 + traced.context]
        carried = self._steps(context, kept[1 + traced.context :])
        ends = [*found, *numbers, *carried[: traced.state]]
        go_on, *found = house.move_in(house.graph, traced.collect, "collect.", ends)
        house.returns(house.graph, [go_on, *numbers, *context, *carried, *found])
        body, go_on = house.graph, self._constant("go_on", np.array(True))
        outputs = node(
            self.graph, "Loop", [None, go_on, *self.first], "rows", len(self.first), body=body
        )
        return outputs[-len(OUTPUTS) :]

    def _begun(self) -> tuple[Values, Values]:
        """Append the choice between the beginning and what goes on of the iteration before."""
        traced, house, width = self.traced, self.house, len(self.carried) - len(OUTPUTS)
        begin = inner_graph("begin", [], self.opset)
        given = [self.given[name] for name in _names(traced)]
        begun = house.move_in(begin, traced.begin, "begin.", [*given, *self.places])
        house.returns(begin, begun)
        compact = inner_graph("compact", [], self.opset)
        kept = house.move_in(compact, traced.compact, "compact.", self.carried[:width])
        house.returns(compact, [*kept, *self.carried[width:]])
        zero = house.constant("first", np.array(0))
        (first,) = node(house.graph, "Equal", [house.graph.inputs[0], zero], "is_first", 1)
        branches = {"then_branch": begin, "else_branch": compact}
        outputs = node(house.graph, "If", [first], "kept", len(self.carried), **branches)
        return outputs[:width], outputs[width:]

    def _steps(self, context: Values, carried: Values) -> Values:
        """Append the inner loop."""
        traced, house = self.traced, self.house
        head = [
            ir.val("steps.iteration", ir.DataType.INT64, []),
            ir.val("steps.condition", ir.DataType.BOOL, []),
        ]
        state = [_like(f"steps.in.{place}", value) for place, value in enumerate(carried)]
        body = inner_graph("steps", [*head, *state], self.opset)
        asked = [self.given[name] for name in traced.options]
        outputs = house.move_in(body, traced.step, "step.", [*state, *context, *asked])
        house.returns(body, outputs[: 1 + traced.carried])
        go_on = house.constant("goes_on", np.array(True))
        return node(house.graph, "Loop", [None, go_on, *carried], "steps", len(carried), body=body)

    def _places(self) -> ir.Value:
        """Number the hypotheses of a source from 0."""
        width = self.given.get("beams", self.given.get("n_best"))
        zero, one = (self._constant(f"number.{n}", np.array(n)) for n in (0, 1))
        (places,) = node(self.graph, "Range", [zero, width, one], "places", 1)
        places.type = ir.TensorType(ir.DataType.INT64)
        return places

    def _nothing(self, place: int, value: ir.Value) -> ir.Value:
        """What stands for a value before the beginning: of its type and rank, without rows."""
        if value.shape is None or value.dtype is None:
            raise RuntimeError(f"the traced value {value.name} has no type")
        shape = [size if isinstance(size, int) else 0 for size in value.shape]
        return self._constant(f"nothing.{place}", np.zeros(shape, value.dtype.numpy()))

    def _constant(self, name: str, array: np.ndarray) -> ir.Value:
        value = ir.val(name, const_value=ir.tensor(array, name=name))
        self.graph.register_initializer(value)
        return value


def _like(name: str, value: ir.Value) -> ir.Value:
    """A value of the same type; lengths differ from one iteration to the next."""
    return ir.Value(name=name, type=value.type)


def _returns(graph: ir.Graph, found: Values, n_best: ir.Value | None) -> None:
    """Name what is found, and keep of it what `n_best` asks for."""
    house = House(graph)
    if n_best is not None:
        zero, one = (house.constant(f"best.{n}", np.array([n])) for n in (0, 1))
        (count,) = node(graph, "Reshape", [n_best, one], "best.count", 1)
    for (name, (dtype, axes)), value in zip(OUTPUTS.items(), found, strict=True):
        given = [value, zero, count, one] if n_best is not None else [value]
        (output,) = node(graph, "Slice" if n_best is not None else "Identity", given, name, 1)
        output.type, output.shape = ir.TensorType(dtype), ir.Shape(axes)
        graph.outputs.append(output)
