"""Rows of ids into what the graph of a package finds for them, those of like length at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnxruntime
from numpy.typing import ArrayLike, NDArray

from builder.errors import MemoryFailure, PackageError, is_out_of_memory, printable
from builder.runtime.metadata import Metadata
from builder.runtime.options import Options
from builder.runtime.session import ENGINE_ERRORS, PREFIX, first_line
from builder.text.batches import by_length
from builder.text.encode import check_length
from builder.text.prefix import padded

Ids = NDArray[np.int64]


class Found(NamedTuple):
    """One output that the graph found for a source."""

    ids: list[int]
    """EOS included where it was reached."""
    score: float
    ended: bool
    """False where a length limit cut the output off."""


@dataclass(frozen=True)
class Row:
    """One source as the graph takes it."""

    ids: Ids
    place: str
    """How messages name it."""
    prefix: Sequence[int] = ()
    """What its outputs begin with; −1 is free."""

    @property
    def tokens(self) -> int:
        """What it takes of a batch: of source and prefix the longer."""
        return max(len(self.ids), len(self.prefix))


def check_ids(ids: ArrayLike, metadata: Metadata, place: str) -> Ids:
    """Return the ids of a source without padding; `place` names it.

    Raises:
        PackageError: They are no whole numbers, or outside the vocabulary.
        DataError: They are more than the model's positions reach.
    """
    row = np.asarray(ids)
    if row.size == 0:
        return np.empty(0, np.int64)
    if row.ndim != 1 or row.dtype.kind not in "iu":
        raise PackageError(
            f"{place}: source ids are a list of whole numbers, not {row.dtype} of shape {row.shape}"
        )
    pad_id, size = metadata.pad_id, metadata.source_vocab_size
    row = row[: int(np.flatnonzero(row != pad_id).max(initial=-1)) + 1]  # padding at the end
    wrong = row[(row < 0) | (row >= size) | (row == pad_id)]
    if wrong.size:
        raise PackageError(
            f"{place}: id {wrong[0]} is not of the source vocabulary: "
            f"0 to {size - 1}, without padding"
        )
    check_length(len(row), metadata.source_limit, place)
    return row.astype(np.int64)


def longest_output(row: Row, metadata: Metadata, options: Options) -> int:
    """Return the limit of a row's outputs, in tokens, EOS counted."""
    longest = options.get("max_length")
    limit = metadata.output_limit
    return limit.tokens(len(row.ids), None if longest is None else int(longest))


@dataclass(frozen=True)
class Graph:
    """The graph in the file `path`, opened."""

    path: Path
    session: onnxruntime.InferenceSession
    pad_id: int
    takes_prefix: bool

    def search(
        self, rows: Sequence[Row], options: Options, *, batch_tokens: int
    ) -> list[list[Found]]:
        """Find the outputs of each row, in order; what is not found is left out.

        An empty source has one output, which is empty: it never reaches the graph.

        Raises:
            PackageError: The graph fails.
            MemoryFailure: There is not enough for the rows that are read at once.
        """
        found = [[Found([], 0.0, ended=True)]] * len(rows)
        full = [number for number, row in enumerate(rows) if len(row.ids)]
        lengths = [rows[number].tokens for number in full]
        for group in by_length(lengths, batch_tokens=batch_tokens):
            numbers = [full[place] for place in group]
            batch = [rows[number] for number in numbers]
            try:
                results = self._run(batch, options)
            except ENGINE_ERRORS as error:
                raise self._failed(error, batch) from None
            for number, outputs in zip(numbers, results, strict=True):
                found[number] = outputs
        return found

    def _run(self, rows: Sequence[Row], options: Options) -> list[list[Found]]:
        """Run the graph once."""
        shape = (len(rows), max(len(row.ids) for row in rows))
        source_ids = np.full(shape, self.pad_id, np.int64)
        for place, row in enumerate(rows):
            source_ids[place, : len(row.ids)] = row.ids
        # Every option is given, as some files have no defaults.
        inputs = {"source_ids": source_ids, **{name: _scalar(x) for name, x in options.items()}}
        if self.takes_prefix:
            inputs[PREFIX] = np.array(padded([row.prefix for row in rows]), np.int64)
        outputs = self.session.run(["target_ids", "scores", "lengths", "ended"], inputs)
        return [
            [
                Found(ids[:length], score, end)
                for ids, score, length, end in zip(*row, strict=True)
                if length > 0
            ]
            for row in zip(*(part.tolist() for part in outputs), strict=True)
        ]

    def _failed(self, error: Exception, rows: Sequence[Row]) -> PackageError | MemoryFailure:
        """What it means that the graph did not run on `rows`."""
        if not is_out_of_memory(error):
            path = printable(self.path.absolute())
            return PackageError(f"{path}: the graph failed: {first_line(error)}")
        longest = max(rows, key=lambda row: len(row.ids))
        others = f" and {len(rows) - 1:,} read with it" if len(rows) > 1 else ""
        return MemoryFailure(
            f"not enough memory: for {longest.place}, of {len(longest.ids):,} tokens{others}; "
            "shorter lines need less, and so do shorter and fewer outputs"
        )


def _scalar(value: float) -> NDArray[np.generic]:
    return np.array(value, np.float32 if isinstance(value, float) else np.int64)
