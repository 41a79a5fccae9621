"""A small graph of the joined form: weights outside, two nested loops that read them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime

SOURCE = """
<ir_version: 10, opset_import: ["" : 20]>
toy (int64[batch, time] source_ids) => (
    int64[batch] last, float[batch, d] state, float[batch, vocab] logits
)
{
    word = Gather(tokens, source_ids)
    place = Gather(places, source_ids)
    x = Add(word, place)
    keys = MatMul(x, key)
    values = MatMul(x, value)
    both = Mul(keys, values)
    first = ReduceMean <keepdims = 0> (both, one)
    zeros = ReduceMin <keepdims = 0> (source_ids, one)
    last, state, logits = Loop <body = outer (
        int64 i, bool go, int64[b] last0, float[b, d] state0, float[b, v] old
    ) => (bool outer_go, int64[b] last2, float[b, d] state3, float[b, v] logits2) {
        outer_go = Identity(go)
        last2, state2 = Loop <body = inner (
            int64 j, bool more, int64[b] last1, float[b, d] state1
        ) => (bool inner_go, int64[b] best, float[b, d] next) {
            inner_go = Identity(more)
            hidden = Gemm <transB = 1> (state1, wide, wide_bias)
            active = Relu(hidden)
            narrow = Gemm <transB = 1> (active, out)
            spoken = Gather(tokens, last1)
            sum = Add(narrow, spoken)
            next = Tanh(sum)
            scores = Gemm <transB = 1> (next, tokens, token_bias)
            best = ArgMax <axis = -1, keepdims = 0> (scores)
        }> (three, outer_go, last0, state0)
        state3 = MatMul(state2, turn)
        logits2 = Gemm <transB = 1> (state3, tokens, token_bias)
    }> (two, yes, zeros, first, none)
}
"""

VOCAB, D_MODEL, D_FF, PLACES = 40, 32, 64, 40
MATRICES = ("key", "value", "wide", "out", "turn", "model.embed.tokens.weight")
TOKENS = "model.embed.tokens.weight"
PLACE_TABLE = "model.embed.positions.table.weight"
SHORT = {TOKENS: "tokens", PLACE_TABLE: "places"}
"""What the source calls them, whose names have no dots."""


def draw() -> dict[str, np.ndarray]:
    """The weights, always the same."""
    generator = np.random.default_rng(7)
    shapes = {
        TOKENS: (VOCAB, D_MODEL),
        PLACE_TABLE: (PLACES, D_MODEL),
        "key": (D_MODEL, D_MODEL),
        "value": (D_MODEL, D_MODEL),
        "wide": (D_FF, D_MODEL),
        "out": (D_MODEL, D_FF),
        "turn": (D_MODEL, D_MODEL),
        "wide_bias": (D_FF,),
        "token_bias": (VOCAB,),
    }
    weights = {name: generator.normal(size=shape) for name, shape in shapes.items()}
    weights = {name: (w / max(w.shape[-1], 4) ** 0.5) for name, w in weights.items()}
    weights["token_bias"][0] = -np.inf
    return {name: w.astype(np.float32) for name, w in weights.items()}


def build(weights: dict[str, np.ndarray]) -> ir.Model:
    """The graph with these weights."""
    constants = {
        "one": np.array([1]),
        "two": np.array(2),
        "three": np.array(3),
        "yes": np.array(True),
        "none": np.zeros((0, VOCAB), np.float32),
    }
    proto = onnx.parser.parse_model(SOURCE)
    for name, array in {**constants, **weights}.items():
        short = SHORT.get(name, name)
        proto.graph.initializer.append(onnx.numpy_helper.from_array(array, short))
    graph = ir.from_proto(proto)
    for name, short in SHORT.items():
        graph.graph.initializers[short].name = name
    return graph


def run(graph: ir.Model, source_ids: np.ndarray) -> dict[str, np.ndarray]:
    """What the graph gives."""
    proto = ir.to_proto(graph)
    onnx.checker.check_model(proto, full_check=True)
    engine = onnxruntime.InferenceSession(proto.SerializeToString(), options())
    names = [value.name for value in engine.get_outputs()]
    return dict(zip(names, engine.run(None, {"source_ids": source_ids}), strict=True))


def options() -> onnxruntime.SessionOptions:
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 3
    quiet.intra_op_num_threads = 1
    return quiet


def operators(graph: ir.Model) -> Counter[str]:
    """How many nodes of each kind there are, at all depths."""
    return Counter(node.op_type for node in ir.traversal.RecursiveGraphIterator(graph.graph))
