"""A graph into the bytes of its ONNX file, and a second file where one cannot hold the weights."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnx_ir as ir
import onnxruntime

from builder import atomic
from builder.errors import PackageError
from builder.runtime.session import open_session, read_file
from builder.runtime.side_file import SUFFIX, SideFile, side_file

FILE_BYTES = 2**31 - 1
"""What one ONNX file can hold."""
BESIDE_WEIGHTS_BYTES = 2**26
"""What nodes, tokenizers and proof may take of it."""
INSIDE_BYTES = 4096
"""Tensors of so many bytes and fewer stay in the ONNX file: some are sizes, and decide shapes."""
ALIGNMENT = 2**16
"""Where tensors may begin in the second file: every system can map it into memory there."""


@dataclass(frozen=True)
class Content:
    """The bytes of an ONNX file, and the second file, if its weights have one."""

    data: bytes
    side: SideFile | None = None
    beside: Path | None = None
    """Where the second file lies now."""

    @property
    def size_bytes(self) -> int:
        """Of both files."""
        return len(self.data) + (self.side.size_bytes if self.side else 0)

    def open(self) -> onnxruntime.InferenceSession:
        """Load the graph."""
        return open_session(self.data, beside=self.beside)

    def parsed(self) -> ir.Model:
        """Return the graph, apart from the one that this was made of; its weights may be shared."""
        graph = ir.from_proto(onnx.ModelProto.FromString(self.data))
        if self.beside is not None:
            ir.external_data.set_base_dir(graph.graph, self.beside.parent)
        return graph


class Drafts:
    """A folder for second files until they take their places; made when there is one."""

    def __init__(self, path: Path) -> None:
        self.name = beside(path).name
        anchor = next(parent for parent in path.absolute().parents if parent.is_dir())
        self._folder = anchor / f".{path.name}.{os.getpid()}.tmp"
        self._count = 0

    def content(self, graph: ir.Model) -> Content:
        """Serialise `graph`; weights that do not fit are written out first, and leave memory."""
        side, place = None, None
        values = _weights(graph)
        total = sum(value.const_value.nbytes for value in values if value.const_value)
        if total > FILE_BYTES - BESIDE_WEIGHTS_BYTES:
            place = self._new_folder() / self.name
            side = _move_out(values, place)
        else:
            _move_in(values)
        return Content(serialised(graph), side, place)

    def _new_folder(self) -> Path:
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir(parents=True)
        return folder

    def clear(self) -> None:
        """Remove what is left."""
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def drafts(path: Path) -> Iterator[Drafts]:
    """Give room for the drafts of what belongs to `path`, on the same disk."""
    room = Drafts(path)
    room.clear()
    try:
        yield room
    finally:
        room.clear()


def beside(path: Path) -> Path:
    """Where the second file of an ONNX file lies."""
    return path.with_name(path.name + SUFFIX)


def serialised(graph: ir.Model) -> bytes:
    """The bytes of an ONNX file that holds `graph`, but for weights that have moved out."""
    return ir.to_proto(graph).SerializeToString(deterministic=True)


def _weights(graph: ir.Model) -> list[ir.Value]:
    """What is large of the initializers of all graphs, in their order."""
    every = [value for each in graph.graphs() for value in each.initializers.values()]
    return [v for v in every if v.const_value is not None and v.const_value.nbytes > INSIDE_BYTES]


def _move_out(values: list[ir.Value], place: Path) -> SideFile:
    """Write weights to the file `place`, one after another; the graph then refers to them."""
    content, end = hashlib.sha256(), 0
    with place.open("xb") as file:
        for value in values:
            tensor = value.const_value
            if tensor is None:
                raise RuntimeError(f"the initializer {value.name} has no value")
            weights = tensor.tobytes()
            for part in (bytes(-end % ALIGNMENT), weights):
                file.write(part)
                content.update(part)
                end += len(part)
            value.const_value = ir.ExternalTensor(
                place.name,
                end - len(weights),
                len(weights),
                tensor.dtype,
                shape=ir.Shape(tensor.shape.numpy()),
                name=value.name or "",
                base_dir=place.parent,
            )
        file.flush()
        os.fsync(file.fileno())
    return SideFile(place.name, end, content.hexdigest())


def _move_in(values: list[ir.Value]) -> None:
    """Take weights into memory that lie in a file of an earlier draft."""
    for value in values:
        if isinstance(value.const_value, ir.ExternalTensor):
            value.const_value = ir.tensor(value.const_value.numpy().copy(), name=value.name)


def write(path: Path, content: Content) -> list[Path]:
    """Write an ONNX file, and the second one with it; return both, the ONNX file first.

    Whoever loads `path` meanwhile finds the old file with its weights or the new one with its own,
    or, between two renamings, is told that its weights are not there or not its own.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    place = beside(path)
    if content.beside is None:
        is_left_over = _belongs(place, path)
        atomic.write_bytes(path, content.data)
        if is_left_over:
            place.unlink(missing_ok=True)
        return [path]
    draft = content.beside.with_name(path.name)
    draft.write_bytes(content.data)
    atomic.replace([(content.beside, place), (draft, path)])
    return [path, place]


def _belongs(place: Path, path: Path) -> bool:
    """Tell whether the file at `place` holds weights of the ONNX file at `path`."""
    if not place.is_file() or not path.is_file():
        return False
    try:
        named = side_file(read_file(path))
    except PackageError:
        return False
    return named is not None and (named.name, named.size_bytes) == (
        place.name,
        place.stat().st_size,
    )
