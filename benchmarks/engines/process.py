"""The benchmark's side of an engine: a process that answers requests."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

BENCHMARKS = Path(__file__).parent.parent
PATHS = (str(BENCHMARKS), str(BENCHMARKS.parent))


class Process:
    """A module under the Python of its own environment; see `server.py` for the other side."""

    def __init__(self, python: str | Path, module: str) -> None:
        inherited = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
        given = filter(None, [inherited.get("PYTHONPATH")])
        self._module = module
        self._complaints = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [python, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            encoding="utf-8",
            env=inherited | {"PYTHONPATH": os.pathsep.join([*PATHS, *given])},
        )

    def ask(self, do: str, **arguments: Any) -> Any:
        """Have an operation done and return its answer; ends the benchmark where it fails."""
        requests, answers = self._process.stdin, self._process.stdout
        if requests is None or answers is None:
            raise RuntimeError("no pipes")
        try:
            requests.write(json.dumps({"do": do, **arguments}) + "\n")
            requests.flush()
        except BrokenPipeError:
            pass  # it has ended: the answer is missing too
        answer = answers.readline()
        if not answer:
            self._process.wait()
            self._complaints.seek(0)
            raise RuntimeError(f"{self._module}: {do} failed:\n{self._complaints.read()[-3000:]}")
        return json.loads(answer)

    def close(self) -> None:
        """Let the process end."""
        self._process.communicate()
        self._complaints.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
