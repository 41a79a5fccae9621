"""What happens in a training, one JSON object on each line."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import builder
from builder import atomic
from builder.run import LOG

VERSIONS = ("torch", "numpy", "tokenizers", "safetensors")


class Log:
    """The file `log.jsonl` of a run; every line is on the disk's way as soon as it is written."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOG

    def write(self, event: str, **fields: Any) -> None:
        """Add a line: what happened, and its numbers."""
        line = json.dumps({"event": event} | fields, ensure_ascii=False)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def rewind(self, step: int) -> None:
        """Drop the lines written after update `step`, and a last one that was cut off."""
        kept = []
        for line in self._lines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if entry.get("step", 0) <= step:
                kept.append(f"{line}\n")
        atomic.write_text(self._path, "".join(kept))

    def _lines(self) -> list[str]:
        if not self._path.is_file():
            return []
        return self._path.read_text(encoding="utf-8", errors="replace").split("\n")


def environment(*, threads: int, seed: int) -> dict[str, Any]:
    """Name what the numbers of a training depend on beside its blueprint and its data."""
    return {
        "transom": builder.__version__,
        "python": platform.python_version(),
        **{name: version(name) for name in VERSIONS},
        "system": platform.system(),
        "machine": platform.machine(),
        "threads": threads,
        "seed": seed,
    }
