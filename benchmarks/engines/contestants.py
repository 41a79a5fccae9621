"""The engines that take part, installed and started."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import peers_ctranslate2
from builder.errors import BlueprintError
from engines.cells import BATCHES, Cell
from engines.contest import OURS, Contestant
from engines.files import Files, tell
from engines.networks import strategy
from engines.process import Process
from peer_errors import TORCH, pip

TRANSFORMERS = ("transformers==5.24.0", "safetensors")
OPTIMUM = ("optimum-onnx[onnxruntime]==0.1.0", "safetensors")
PINNED = (peers_ctranslate2.PACKAGE, TRANSFORMERS[0], OPTIMUM[0], TORCH)
MARIAN = "engines.huggingface"
LARGEST = 8
"""The largest batch of PyTorch and Hugging Face, unless all is asked for."""

Asks = Callable[[Cell], dict[str, Any] | None]


PEERS = ("ctranslate2", "transformers", "optimum", "pytorch")


def contestants(
    stack: ExitStack, files: Files, venv: Path, names: Collection[str], *, full: bool
) -> list[Contestant]:
    """Our file and the peers called `names`, as far as they install; `stack` ends them.

    `full` gives the slow ones the largest batch too.
    """
    largest = max(BATCHES) if full else LARGEST

    def start(name: str, python: str | Path, module: str, asks: Asks) -> Contestant:
        return Contestant(name, stack.enter_context(Process(python, module)), asks)

    engines = [start(OURS, sys.executable, "engines.onnx_file", _ours(files))]
    python = "ctranslate2" in names and _installed(venv, [peers_ctranslate2.PACKAGE])
    if python:
        asks = _converted(files, python)
        engines.append(start("ctranslate2", python, peers_ctranslate2.MODULE, asks))
    python = "transformers" in names and _installed(venv, [TORCH], TRANSFORMERS)
    if python:
        engines.append(start("transformers", python, MARIAN, _marian(files, largest)))
    python = "optimum" in names and _installed(venv / "optimum", [TORCH], OPTIMUM)
    if python:
        asks = _marian(files, largest, optimum=True)
        engines.append(start("optimum", python, MARIAN, asks))
    if "pytorch" in names:
        asks = _trained(files, largest)
        engines.append(start("pytorch", sys.executable, "engines.pytorch", asks))
    return engines


def _installed(venv: Path, *groups: Sequence[str]) -> Path | None:
    """The Python of an environment with all packages; None, told, where they do not install."""
    python = venv.absolute() / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    for packages in groups:
        problem = pip(python, packages)
        if problem:
            tell(f"left out: {' '.join(packages)}: {problem}")
            return None
    return python


def _ours(files: Files) -> Asks:
    def asks(cell: Cell) -> dict[str, Any] | None:
        path = files.ours(cell.size, cell.search, cell.precision, cell.ending)
        return None if path is None else {"file": str(path)}

    return asks


def _converted(files: Files, python: Path) -> Asks:
    def asks(cell: Cell) -> dict[str, Any]:
        folder = files.converted(cell.size, cell.precision, cell.ending, python)
        return {"folder": str(folder), "compute_type": cell.precision, "beams": cell.beams}

    return asks


def _marian(files: Files, largest: int, *, optimum: bool = False) -> Asks:
    def asks(cell: Cell) -> dict[str, Any] | None:
        if cell.precision != "float32" or cell.batch > largest:
            return None
        if optimum and cell.ending != "forced":  # each takes an export of its own
            return None
        folder = files.run(cell.size, cell.ending)
        return {"folder": str(folder), "beams": cell.beams, "optimum": optimum}

    return asks


def _trained(files: Files, largest: int) -> Asks:
    def asks(cell: Cell) -> dict[str, Any] | None:
        if cell.precision != "float32" or cell.batch > largest:
            return None
        folder = files.run(cell.size, cell.ending)
        try:
            strategy(folder, cell.search)
        except BlueprintError:
            return None
        return {"folder": str(folder), "search": cell.search}

    return asks
