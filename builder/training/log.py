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

CHECKPOINT, FINISHED = "checkpoint", "finished"
"""Events that tell a resume what once was there."""
VERSIONS = ("torch", "numpy", "tokenizers", "safetensors")


class Log:
    """The file `log.jsonl` of a run; every line is on the disk's way as soon as it is written."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOG

    def write(self, event: str, **fields: Any) -> None:
        """Add a line: what happened, and its numbers."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(_line({"event": event} | fields))

    def entries(self) -> list[dict[str, Any]]:
        """Read all lines but those that were cut off; none where there is no log."""
        if not self._path.is_file():
            return []
        text = self._path.read_text(encoding="utf-8", errors="replace")
        return [entry for line in text.split("\n") if isinstance(entry := _read(line), dict)]

    def rewind(self, step: int) -> None:
        """Drop the lines written after update `step`, and those that were cut off."""
        kept = [entry for entry in self.entries() if entry.get("step", 0) <= step]
        atomic.write_text(self._path, "".join(map(_line, kept)))


def _line(entry: dict[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False) + "\n"


def _read(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


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
