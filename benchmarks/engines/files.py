"""What each engine loads, made from the same weights."""

from __future__ import annotations

import hashlib
import shutil
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from builder.blueprint.blueprint import Blueprint
from builder.errors import BlueprintError
from builder.export.export import export_run
from builder.nn.transformer import Transformer
from builder.text.control import EOS_ID
from engines.cells import BATCHES, LIMIT, draw_sources
from engines.networks import (
    NEVER,
    PRECISIONS,
    SEARCHES,
    Size,
    draw_network,
    natural_ending,
    set_ending,
    write_run,
)
from peers_ctranslate2 import convert

ROOT = Path(__file__).parent.parent.parent
MAKERS = (ROOT / "builder", ROOT / "benchmarks" / "engines")
"""Whose code decides what is in the files."""

ROUNDING = 1e-5
"""How exactly a bias is found again."""


class Files:
    """Runs, our files and those of others below `root`, made when they are first asked for.

    The `ending` of a network is "forced", where it never writes EOS, or "natural". Both are the
    same but for the bias of EOS.
    """

    def __init__(self, root: Path) -> None:
        self._root = root / _state_of_code()
        self._root.mkdir(parents=True, exist_ok=True)

    @cache  # noqa: B019
    def network(self, size: Size) -> tuple[Blueprint, Transformer, float]:
        """Draw a network, and find the bias under which it ends by itself."""
        blueprint, model = draw_network(size, self._root)
        sources = draw_sources(size.vocab_size, max(BATCHES))
        return blueprint, model, natural_ending(model, sources, LIMIT)

    def run(self, size: Size, ending: str) -> Path:
        """The folder of a run."""
        folder = self._root / size.name / ending
        if not (folder / "weights.safetensors").exists():
            blueprint, model = self.with_ending(size, ending)
            write_run(size, blueprint, model, folder)
        return folder

    def with_ending(self, size: Size, ending: str) -> tuple[Blueprint, Transformer]:
        """The network itself; the one asked for before changes with it."""
        blueprint, model, bias = self.network(size)
        set_ending(model, NEVER if ending == "forced" else bias)
        return blueprint, model

    @cache  # noqa: B019
    def ours(self, size: Size, search: str, precision: str, ending: str) -> Path | None:
        """The exported file; None where the blueprint has no such choice yet."""
        path = self._root / size.name / f"{search}-{precision}-{ending}.onnx"
        if path.exists():
            return path
        if ending == "forced":
            natural = self.ours(size, search, precision, "natural")
            return natural and never_ending(natural, path, self.network(size)[2])
        overrides = (*SEARCHES[search], *PRECISIONS[precision])
        start = time.perf_counter()
        try:
            export_run(self.run(size, ending), out=path, overrides=overrides)
        except BlueprintError as error:
            tell(f"{size.name} {path.stem}: left out: {str(error).splitlines()[0]}")
            return None
        tell(f"{size.name} {path.stem}: exported in {time.perf_counter() - start:.0f} s")
        return path

    def converted(self, size: Size, precision: str, ending: str, python: Path) -> Path:
        """The model of CTranslate2."""
        folder = self._root / size.name / f"ctranslate2-{precision}-{ending}"
        if not (folder / "model.bin").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _, model = self.with_ending(size, ending)
            convert(model, folder, python=python, quantization=precision)
        return folder


def never_ending(natural: Path, path: Path, bias: float) -> Path:
    """Write a copy of an exported file whose outputs all reach their limit.

    Only `bias`, that of EOS, changes; a second export would take as long as the first.
    """
    model = onnx.load(natural)
    found = 0
    for tensor in _vectors(model.graph):
        values = np.array(numpy_helper.to_array(tensor))
        if len(values) > EOS_ID and abs(values[EOS_ID] - bias) < ROUNDING:
            values[EOS_ID] = NEVER
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
            found += 1
    if found != 1:
        raise RuntimeError(f"{natural}: {found} biases of EOS, one was expected")
    path.write_bytes(model.SerializeToString())
    return path


def _vectors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """Go through the vectors of a graph and of those inside it."""
    is_float = onnx.TensorProto.FLOAT
    yield from (each for each in graph.initializer
                if each.data_type == is_float and len(each.dims) == 1)  # fmt: skip
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _vectors(attribute.g)


def tell(text: str) -> None:
    """Say how far it is."""
    print(text, file=sys.stderr, flush=True)


def _state_of_code() -> str:
    """What the files depend on, so that none is taken for that of another version."""
    digest = hashlib.sha256()
    for path in sorted(path for folder in MAKERS for path in folder.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
