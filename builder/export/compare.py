"""A file and a network into what they write, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from builder.export.lines import Batch
from builder.generate import Generator
from builder.search.found import Found

OUTPUTS = ["target_ids", "scores", "lengths", "ended"]


class Hypothesis(NamedTuple):
    """One output of one source."""

    ids: list[int]
    score: float
    ended: bool


Row = list[Hypothesis]
"""The n best of a source."""


def by_file(
    engine: onnxruntime.InferenceSession, options: Mapping[str, int | float], batch: Batch
) -> list[Row]:
    """Run an exported file; `options` are its defaults."""
    given = {"source_ids": batch.source_ids.numpy()}
    given |= {name: scalar(value) for name, value in {**options, **batch.asked}.items()}
    if "target_prefix" in {value.name for value in engine.get_inputs()}:
        rows = len(batch.source_ids)
        free = np.full((rows, 1), -1)
        given["target_prefix"] = free if batch.prefix is None else batch.prefix.numpy()
    parts = engine.run(OUTPUTS, given)
    return list(_rows(*(part.tolist() for part in parts)))


def by_network(generator: Generator, batch: Batch) -> list[Row]:
    """Run the network in PyTorch."""
    found: Found = generator.ids(batch.source_ids, asked=batch.asked, prefix=batch.prefix)
    return list(_rows(*(part.tolist() for part in found)))


def scalar(value: float) -> NDArray[np.generic]:
    """Return an option as the graph takes it."""
    return np.array(value, np.float32 if isinstance(value, float) else np.int64)


def _rows(
    ids: list[list[list[int]]],
    scores: list[list[float]],
    lengths: list[list[int]],
    ended: list[list[bool]],
) -> Iterator[Row]:
    for row in zip(ids, scores, lengths, ended, strict=True):
        yield [
            Hypothesis(tokens[:length], score, end)
            for tokens, score, length, end in zip(*row, strict=True)
            if length
        ]
