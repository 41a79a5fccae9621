"""Graphs in fewer bits: what is rounded, how far, and what stays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx_ir as ir
import onnxruntime
import pytest

from builder.export.int8 import Weights, quantise
from builder.export.names import restore_names
from builder.export.precision import candidates, reduce
from tests.export import toy

IDS = np.array([[3, 9, 27], [39, 0, 11], [5, 5, 20], [8, 31, 2]])
INT8: list[Weights] = ["uint8", "int7"]


def opened(array: np.ndarray, weights: Weights) -> np.ndarray:
    """What the numbers of a quantised weight stand for."""
    integers = quantise(array, weights)
    return (integers.values.astype(np.float32) - integers.zero) * integers.scale


@pytest.mark.parametrize("weights", INT8)
def test_every_channel_is_rounded_by_a_scale_of_its_own(weights: Weights) -> None:
    array = np.random.default_rng(1).normal(size=(64, 5)).astype(np.float32)
    array *= np.array([1e-3, 1.0, 50.0, 0.0, 1e-30], np.float32)

    integers = quantise(array, weights)

    steps = {"uint8": 127, "int7": 64}[weights]
    allowed = np.abs(array).max(axis=0) / steps / 2
    assert (np.abs(opened(array, weights) - array) <= allowed * 1.001).all()
    assert not opened(array, weights)[:, 3].any()
    assert integers.scale.dtype == np.float32


@pytest.mark.parametrize("weights", INT8)
def test_no_pair_of_products_leaves_16_bits(weights: Weights) -> None:
    """What processors without VNNI do with signed weights: two products are added in 16 bits."""
    array = np.array([[1.0, -1.0], [1.0, -1.0]], np.float32)

    integers = quantise(array, weights)

    assert integers.values.dtype == integers.zero.dtype
    if integers.values.dtype == np.int8:
        pairs = 255 * integers.values.astype(int).sum(axis=0)
        assert (np.abs(pairs) < 2**15).all()
        assert np.abs(integers.values).max() == 64
    else:
        assert integers.values.dtype == np.uint8


@pytest.mark.parametrize("weights", INT8)
def test_the_largest_numbers_do_not_saturate(weights: Weights) -> None:
    """It shows on processors without VNNI alone; there, signed weights of full range fail."""
    x = ir.val("x", ir.DataType.FLOAT, ["rows", 64])
    matrix = ir.val("matrix", const_value=ir.tensor(np.ones((64, 32), np.float32)))
    y = ir.val("y", ir.DataType.FLOAT, ["rows", 32])
    product = ir.node("MatMul", [x, matrix], outputs=[y])
    inner = ir.Graph([x], [y], nodes=[product], initializers=[matrix], opset_imports={"": 20})
    graph = ir.Model(inner, ir_version=10)

    reduce(graph, weights)

    engine = onnxruntime.InferenceSession(ir.to_proto(graph).SerializeToString(), toy.options())
    for rows in (1, 8, 33):
        found = engine.run(None, {"x": np.ones((rows, 64), np.float32)})[0]
        np.testing.assert_allclose(found, 64.0, rtol=1e-3)


@pytest.mark.parametrize("weights", INT8)
def test_rounds_every_product_and_table_of_tokens(weights: Weights) -> None:
    graph = toy.build(toy.draw())

    report = reduce(graph, weights)

    assert set(report.reduced) == set(toy.MATRICES)
    assert not report.kept_share
    found = toy.operators(graph)
    assert not found["MatMul"] + found["Gemm"]
    assert found["MatMulInteger"] == 7
    assert found["DynamicQuantizeLinear"] == 6  # key and value share theirs
    held = {name: value.const_value.dtype for name, value in graph.graph.initializers.items()}
    assert held[toy.PLACE_TABLE] == held["wide_bias"] == ir.DataType.FLOAT
    assert not set(held) & set(toy.MATRICES)
    assert {node.domain for node in ir.traversal.RecursiveGraphIterator(graph.graph)} == {""}


@pytest.mark.parametrize("weights", INT8)
def test_gives_nearly_what_float32_gives(weights: Weights) -> None:
    expected = toy.run(toy.build(toy.draw()), IDS)
    graph = toy.build(toy.draw())

    reduce(graph, weights)

    found = toy.run(graph, IDS)
    finite = np.isfinite(expected["logits"])
    np.testing.assert_array_equal(np.isfinite(found["logits"]), finite)
    ours, theirs = found["logits"][finite], expected["logits"][finite]
    assert 0 < np.abs(ours - theirs).max() < 0.03 * np.abs(theirs).max()
    np.testing.assert_array_equal(found["last"], expected["last"])
    assert len(set(expected["last"])) > 1


def test_a_lookup_gives_the_rounded_rows_exactly() -> None:
    """Without products, a table is opened again as it was written."""
    weights = toy.draw()
    graph = toy.build(weights)

    reduce(graph, "uint8", keep=set(toy.MATRICES) - {toy.TOKENS})

    lookup = next(node for node in graph.graph if node.op_type == "Add").inputs[0]
    assert lookup is not None
    lookup.type, lookup.shape = (
        ir.TensorType(ir.DataType.FLOAT),
        ir.Shape([*IDS.shape, toy.D_MODEL]),
    )
    graph.graph.outputs.append(lookup)
    rows = opened(weights[toy.TOKENS].T, "uint8").T
    np.testing.assert_array_equal(toy.run(graph, IDS)[str(lookup.name)], rows[IDS])


@pytest.mark.parametrize("weights", INT8)
def test_a_tied_table_is_stored_once(weights: Weights) -> None:
    graph = toy.build(toy.draw())

    reduce(graph, weights)

    tensors = [value.const_value for value in graph.graph.initializers.values()]
    of_its_size = [tensor for tensor in tensors if tensor.size == toy.VOCAB * toy.D_MODEL]
    assert sorted(tensor.dtype.itemsize for tensor in of_its_size) == [1, 4]  # and the positions


@pytest.mark.parametrize("weights", INT8)
def test_the_engine_fuses_at_every_depth(weights: Weights, tmp_path: Path) -> None:
    """Else every product runs as five operators."""
    graph = toy.build(toy.draw())
    reduce(graph, weights)
    options = toy.options()
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    onnxruntime.InferenceSession(ir.to_proto(graph).SerializeToString(), options)

    found = toy.operators(ir.load(tmp_path / "optimised.onnx"))

    assert found["DynamicQuantizeMatMul"] + found["MatMulIntegerToFloat"] == 7
    assert not found["MatMulInteger"] + found["Transpose"]


@pytest.mark.parametrize("form", ["float16", "uint8", "int7"])
def test_what_is_kept_stays_as_it_is(form: Weights) -> None:
    graph = toy.build(toy.draw())
    keep = {toy.TOKENS, "wide"}

    report = reduce(graph, form, keep)

    assert set(report.kept) == keep
    for name in keep:
        np.testing.assert_array_equal(
            graph.graph.initializers[name].const_value.numpy(), toy.draw()[name]
        )
    whole = candidates(toy.build(toy.draw()), form)
    assert report.kept_share == sum(whole[name] for name in keep) / sum(whole.values())
    toy.run(graph, IDS)


@pytest.mark.parametrize("form", ["float16", "uint8", "int7"])
def test_everything_kept_is_the_float32_graph(form: Weights) -> None:
    graph = toy.build(toy.draw())

    reduce(graph, form, keep=candidates(graph, form))

    assert ir.to_proto(graph) == ir.to_proto(toy.build(toy.draw()))


def test_float16_computes_in_float32_with_rounded_matrices() -> None:
    weights = toy.draw()
    rounded = {
        name: array.astype(np.float16).astype(np.float32) if array.ndim == 2 else array
        for name, array in weights.items()
    }
    expected = toy.run(toy.build(rounded), IDS)
    graph = toy.build(weights)

    report = reduce(graph, "float16")

    for name, found in toy.run(graph, IDS).items():
        np.testing.assert_array_equal(found, expected[name])
    assert set(report.reduced) == {name for name, array in weights.items() if array.ndim == 2}
    size = len(ir.to_proto(graph).SerializeToString())
    assert size < 0.6 * len(ir.to_proto(toy.build(weights)).SerializeToString())


def test_numbers_beyond_float16_stay_and_are_told() -> None:
    weights = toy.draw()
    weights["wide"][3, 4] = 65_520.0  # the least that is rounded to infinity
    weights["out"][3, 4] = 65_504.0
    weights["turn"][0, 0] = -np.inf
    graph = toy.build(weights)

    report = reduce(graph, "float16")

    assert report.unfit == {"wide": weights["wide"].nbytes}
    assert graph.graph.initializers["wide"].const_value.dtype == ir.DataType.FLOAT
    half = graph.graph.initializers["out.float16"].const_value.numpy()
    assert half[3, 4] == 65_504.0


def test_a_weight_that_is_not_finite_stays_out_of_8_bits() -> None:
    weights = toy.draw()
    weights["turn"][0, 0] = np.inf

    assert set(reduce(toy.build(weights), "uint8").unfit) == {"turn"}


def test_transposed_matrices_get_their_parameters_names() -> None:
    weights = toy.draw()
    graph = toy.build(weights)
    parameters = {"a.key": weights["key"].T, "a.out": weights["out"], "b.turn": weights["turn"].T}

    restore_names(graph, parameters)

    names = set(graph.graph.initializers)
    assert {"model.a.key", "model.b.turn", "out", "value"} <= names
    assert not {"key", "turn", "model.a.out"} & names
    assert "model.a.key" in reduce(graph, "uint8").reduced
