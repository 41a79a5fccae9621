"""The side of an engine: requests from stdin, one JSON object a line, into answers on stdout."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any


def serve(operations: Mapping[str, Callable[..., Any]]) -> None:
    """Answer until stdin ends; a request names its operation in `do`, the rest are arguments.

    An operation that fails ends the process with its traceback on stderr.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer
    for line in sys.stdin:
        request = json.loads(line)
        answer = operations[request.pop("do")](**request)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def timed(call: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Seconds that a call takes, of the clock on the wall and of processors, and its result."""
    wall, processor = time.perf_counter(), time.process_time()
    result = call()
    seconds = {
        "seconds": time.perf_counter() - wall,
        "processor_seconds": time.process_time() - processor,
    }
    return seconds, result
