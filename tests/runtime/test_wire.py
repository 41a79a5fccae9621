"""The reader of ONNX bytes beside the format's own description and its own reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest

from builder.errors import PackageError
from builder.runtime import wire

KINDS = {
    "ModelProto": "model",
    "TrainingInfoProto": "training",
    "FunctionProto": "function",
    "GraphProto": "graph",
    "NodeProto": "node",
    "AttributeProto": "attribute",
    "SparseTensorProto": "sparse",
    "TensorProto": "tensor",
}


def ways(kind: Any, seen: dict[str, dict[int, str]]) -> dict[str, dict[int, str]]:
    """The fields of messages below `kind`, by message and number."""
    if kind.name not in seen:
        seen[kind.name] = {}
        for field in kind.fields:
            if field.message_type is not None:
                seen[kind.name][field.number] = field.message_type.name
                ways(field.message_type, seen)
    return seen


def test_no_way_to_a_tensor_is_passed_over() -> None:
    """Whatever message can hold a tensor is gone through, as the format describes itself."""
    every = ways(onnx.ModelProto.DESCRIPTOR, {})
    leading = {"TensorProto"}
    while True:
        more = {name for name, fields in every.items() if leading & set(fields.values())}
        if more <= leading:
            break
        leading |= more
    assert leading == set(KINDS)
    for name in leading - {"TensorProto"}:
        fields = {number: KINDS[to] for number, to in every[name].items() if to in leading}
        ours = {n: to for n, to in wire.FIELDS[KINDS[name]].items() if to in wire.FIELDS}
        assert ours == fields
    (place,) = wire.FIELDS["tensor"]
    assert onnx.TensorProto.DESCRIPTOR.fields_by_number[place].name == "external_data"
    entries = [n for n, to in wire.FIELDS["model"].items() if to == "entry"]
    assert [onnx.ModelProto.DESCRIPTOR.fields_by_number[n].name for n in entries] == [
        "metadata_props"
    ]


@pytest.mark.parametrize("field", ["initializer", "sparse", "constant", "list", "function"])
def test_finds_the_place_of_every_tensor(field: str) -> None:
    model = onnx.ModelProto()
    node = model.graph.node.add()
    tensor = {
        "initializer": model.graph.initializer.add,
        "sparse": lambda: model.graph.sparse_initializer.add().values,
        "constant": lambda: node.attribute.add().t,
        "list": node.attribute.add().g.node.add().attribute.add().tensors.add,
        "function": lambda: model.functions.add().node.add().attribute.add().t,
    }[field]()
    tensor.external_data.add(key="location", value="é/secret")
    tensor.external_data.add(key="offset", value="12")
    model.metadata_props.add(key="name", value="value")

    assert wire.read(model.SerializeToString()) == ([("name", "value")], {"é/secret"})


def test_all_of_a_crooked_entry_counts() -> None:
    """Engines may take the last of two values, or the first: each is a place."""
    entry = b"\x0a\x03key\x0a\x08location\x12\x01a\x12\x01b"
    tensor = b"\x6a" + bytes([len(entry)]) + entry
    graph = b"\x2a" + bytes([len(tensor)]) + tensor
    # the tag of `graph` in five bytes, with bits that protobuf cuts off
    model = b"\xba\x80\x80\x80\x10" + bytes([len(graph)]) + graph

    assert onnx.ModelProto.FromString(model[:1].replace(b"\xba", b"\x3a") + model[5:]).graph
    assert wire.read(model).locations == {"a", "b"}


@pytest.mark.parametrize(
    "data", [b"\x3a\x05", b"\x3a", b"\x3b\x3c", b"\xff" * 20, b"\x3a\x02\x0a\x07", b"\x39\x00"]
)
def test_refuses_what_does_not_add_up(data: bytes) -> None:
    with pytest.raises(PackageError, match="not an ONNX file"):
        wire.read(data)


def test_reads_what_an_export_holds(write_echo: Any) -> None:
    path: Path = write_echo()
    stored = onnx.load(path).metadata_props
    assert sorted(wire.read(path.read_bytes()).metadata) == sorted((e.key, e.value) for e in stored)
