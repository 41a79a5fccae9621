"""A joined graph in float32 into one of fewer bits."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Literal

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

Form = Literal["float16", "uint8", "int7"]

LARGEST = float(np.finfo(np.float16).max)


@dataclass(frozen=True)
class Report:
    """What became of the weights; each with the bytes that it takes in float32."""

    form: Form
    reduced: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    """Those that were asked to stay in float32, in the order of asking."""
    unfit: dict[str, int] = field(default_factory=dict)
    """Those that hold numbers which the form has no room for, and stay too."""

    @property
    def kept_share(self) -> float:
        """What stays in float32, of the bytes of all weights that the form has in view."""
        whole = sum(sum(part.values()) for part in (self.reduced, self.kept, self.unfit))
        stays = sum(self.kept.values()) + sum(self.unfit.values())
        return stays / whole if whole else 0.0


def reduce(graph: ir.Model, form: Form, keep: Collection[str] = ()) -> Report:
    """Write the weights of `graph` in fewer bits, in place; those named by `keep` stay.

    - `float16`: matrices take half the bytes; they are cast back when the file is loaded, and
      computed with in float32.
    - `uint8`, `int7`: matrices that are multiplied with, and tables of tokens, take a quarter;
      what they are multiplied with is rounded to 8 bits as it comes. Tables of positions, biases
      and norms stay.
    """
    if form == "float16":
        report = _to_float16(home_of_weights(graph.graph), keep)
    else:
        report = _to_int8(graph.graph, form, keep)
    in_order = {name: report.kept[name] for name in keep if name in report.kept}
    return replace(report, kept=in_order)


def candidates(graph: ir.Model, form: Form) -> dict[str, int]:
    """The names of the weights that `reduce` has in view, and their bytes in float32."""
    if form == "float16":
        home = home_of_weights(graph.graph)
        weights = [value for value in home.initializers.values() if is_weight(value)]
    else:
        weights = [site.weight for site in find_sites(graph.graph)]
    return {str(weight.name): _size(weight) for weight in weights}


def _to_float16(graph: ir.Graph, keep: Collection[str]) -> Report:
    report = Report("float16")
    for name, value in list(graph.initializers.items()):
        if not is_weight(value):
            continue
        array = numbers(value)
        finite = array[np.isfinite(array)]
        fits = not finite.size or float(np.abs(finite).max()) <= LARGEST
        if _stays(value, report, keep, fits=fits):
            continue
        half = ir.tensor(array.astype(np.float16), name=f"{name}.float16")
        stored = ir.val(f"{name}.float16", const_value=half)
        cast = ir.node("Cast", [stored], attributes={"to": ir.DataType.FLOAT.value})
        ir.convenience.replace_all_uses_with(value, cast.outputs[0])
        del graph.initializers[name]
        cast.outputs[0].name = name
        graph.register_initializer(stored)
        graph.insert_before(graph[0], cast)
    return report


def _to_int8(graph: ir.Graph, weights: Weights, keep: Collection[str]) -> Report:
    report = Report(weights)
    home = home_of_weights(graph)
    sites = [site for site in find_sites(graph) if not _site_stays(site, report, keep)]
    writer = Int8(home, weights, sites)
    for site in sites:
        nodes = writer.nodes(site)
        ir.convenience.replace_nodes_and_values(
            graph_of(site.node), site.node, [site.node], nodes, site.node.outputs, nodes[-1].outputs
        )
    for name, value in list(home.initializers.items()):
        if name in report.reduced and not value.uses():
            del home.initializers[name]
    return report


def _site_stays(site: Site, report: Report, keep: Collection[str]) -> bool:
    fits = bool(np.isfinite(numbers(site.weight)).all())
    return _stays(site.weight, report, keep, fits=fits)


def _stays(weight: ir.Value, report: Report, keep: Collection[str], *, fits: bool) -> bool:
    """Enter `weight` into the report, and tell whether it stays in float32."""
    name = str(weight.name)
    place = report.kept if name in keep else report.reduced if fits else report.unfit
    place[name] = _size(weight)
    return place is not report.reduced


def _size(value: ir.Value) -> int:
    return numbers(value).nbytes
