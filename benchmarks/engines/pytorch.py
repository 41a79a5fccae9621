"""The engine of our training: PyTorch, and how quick this machine is at best."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from builder.generate import Generator, pad
from builder.run import Run
from engines.networks import strategy
from engines.server import serve, timed

STREAM = 2**27
"""Numbers that are read to measure the bandwidth: half a gigabyte, in no cache."""
SIDE = 2048
TRIES = 5


class Answers:
    """One run at a time."""

    def __init__(self) -> None:
        self._loaded: tuple[str, ...] = ()
        self._generator: Any = None

    def load(self, folder: str, search: str, threads: int) -> None:
        """Take the network of a run and a search."""
        torch.set_num_threads(threads)
        if (folder, search) != self._loaded:
            run = Run.open(Path(folder))
            tokenizers = (run.source_tokenizer, run.target_tokenizer)
            found = strategy(run.folder, search)
            self._generator = Generator.of(run.load_model(), tokenizers, found)
            self._loaded = (folder, search)

    def run(self, sources: list[list[int]], limit: int) -> dict[str, Any]:
        """Write the best output of each source, as long as `limit` at most."""
        seconds, targets = timed(lambda: self._generate(sources, limit))
        return {"targets": targets, **seconds}

    def _generate(self, sources: list[list[int]], limit: int) -> list[list[int]]:
        found = self._generator.ids(pad(sources), asked={"max_length": limit})
        rows, lengths = found.target_ids[:, 0].tolist(), found.lengths[:, 0].tolist()
        return [ids[:length] for ids, length in zip(rows, lengths, strict=True)]


def bandwidth(threads: int) -> float:
    """Bytes read in a second, in a sum over more than any cache holds."""
    stream = torch.ones(STREAM)
    return stream.numel() * stream.element_size() / _least(stream.sum, threads)


def product_rate(threads: int) -> float:
    """Floating-point operations in a second, in the product of two large matrices."""
    square = torch.ones(SIDE, SIDE)
    return 2 * SIDE**3 / _least(lambda: square @ square, threads)


def _least(call: Callable[[], Any], threads: int) -> float:
    """The least seconds of a few tries: the machine's limit, not its mood.

    Those of one thread are its own, whoever else is at work.
    """
    torch.set_num_threads(threads)
    clock = time.process_time if threads == 1 else time.perf_counter
    call()
    least = float("inf")
    for _ in range(TRIES):
        start = clock()
        call()
        least = min(least, clock() - start)
    return least


if __name__ == "__main__":
    answers = Answers()
    operations = (answers.load, answers.run, bandwidth, product_rate)
    serve({each.__name__: each for each in operations})
