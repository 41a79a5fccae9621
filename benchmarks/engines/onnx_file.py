"""The engine of our own files: ONNX Runtime, as the runtime opens it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from builder.runtime.session import open_session
from engines.server import serve, timed

OUTPUTS = ["target_ids", "lengths"]
PAD_ID = 0


class Answers:
    """One file at a time."""

    def __init__(self) -> None:
        self._session: Any = None

    def load(self, file: str, threads: int) -> None:
        """Open a file in place of the one before."""
        self._session = None
        self._session = open_session(Path(file).read_bytes(), threads=threads)

    def run(self, sources: list[list[int]], limit: int) -> dict[str, Any]:
        """Write the best output of each source, as long as `limit` at most."""
        seconds, targets = timed(lambda: self._generate(sources, limit))
        return {"targets": targets, **seconds}

    def _generate(self, sources: list[list[int]], limit: int) -> list[list[int]]:
        source_ids = np.full((len(sources), max(map(len, sources))), PAD_ID, np.int64)
        for row, ids in zip(source_ids, sources, strict=True):
            row[: len(ids)] = ids
        inputs = {"source_ids": source_ids, "max_length": np.array(limit, np.int64)}
        target_ids, lengths = self._session.run(OUTPUTS, inputs)
        return [
            row[0, : length[0]].tolist() for row, length in zip(target_ids, lengths, strict=True)
        ]


if __name__ == "__main__":
    answers = Answers()
    serve({"load": answers.load, "run": answers.run})
