"""The bytes of an ONNX file into its metadata and the places of its tensors, read with care."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from builder.errors import PackageError

FIELDS = {
    "model": {7: "graph", 14: "entry", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "place"},
}
"""The fields through which ONNX messages reach metadata (`entry`) and what a tensor says of another
file (`place`), by number; all others are passed over."""
KEY, VALUE = 1, 2
"""The fields of `entry` and `place`."""

VARINT, EIGHT_BYTES, LENGTH, FOUR_BYTES = 0, 1, 2, 5
"""The forms of a field that ONNX uses."""
VARINT_BYTES = 10


class Read(NamedTuple):
    """What an ONNX file says outside of its operators."""

    metadata: list[tuple[str, str]]
    """Keys and values as they stand; a key may come twice."""
    locations: set[str]
    """The files that tensors of any graph inside lie in."""


def read(data: bytes) -> Read:
    """Read an ONNX file without trusting it; weights are passed over, not copied.

    Raises:
        PackageError: It is no such file, or only a part of one.
    """
    found = Read([], set())
    todo = [("model", 0, len(data))]
    try:
        while todo:
            kind, start, end = todo.pop()
            if kind in FIELDS:
                fields = FIELDS[kind]
                for number, first, last in _fields(data, start, end):
                    if number in fields:
                        todo.append((fields[number], first, last))
                continue
            keys, values = _texts(data, start, end)
            if kind == "entry":
                found.metadata.extend(zip(keys[-1:], values[-1:], strict=False))
            elif "location" in keys:
                found.locations.update(values or [""])
    except (IndexError, ValueError):
        raise PackageError("not an ONNX file, or only a part of one") from None
    return found


def _texts(data: bytes, start: int, end: int) -> tuple[list[str], list[str]]:
    """All keys and values of an entry: there should be one of each, and engines take the last."""
    found: dict[int, list[str]] = {KEY: [], VALUE: []}
    for number, first, last in _fields(data, start, end):
        if number in found:
            found[number].append(data[first:last].decode())
    return found[KEY], found[VALUE]


def _fields(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Give the number, start and end of each field that has a length."""
    place = start
    while place < end:
        tag, place = _varint(data, place)
        number, form = (tag & 0xFFFFFFFF) >> 3, tag & 7  # as protobuf cuts it
        if form == VARINT:
            _, place = _varint(data, place)
        elif form == LENGTH:
            size, place = _varint(data, place)
            yield number, place, place + size
            place += size
        elif form in (EIGHT_BYTES, FOUR_BYTES):
            place += 8 if form == EIGHT_BYTES else 4
        else:
            raise ValueError("a form that ONNX does not use")
        if place > end:
            raise ValueError("a field is longer than what it stands in")


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """A number and where it ends."""
    value = 0
    for count in range(VARINT_BYTES):
        byte = data[place + count]
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value, place + count + 1
    raise ValueError("a number without end")
