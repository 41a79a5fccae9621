"""An exported package: lines in, lines out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnxruntime
from numpy.typing import ArrayLike, NDArray

from builder.errors import MemoryFailure, PackageError, is_out_of_memory, printable
from builder.runtime.digest import is_damaged
from builder.runtime.metadata import Metadata, read_metadata
from builder.runtime.session import (
    CPU,
    ENGINE_ERRORS,
    check_signature,
    first_line,
    open_session,
    read_file,
)
from builder.text.batches import by_length
from builder.text.encode import check_length, encode_lines
from builder.text.output import Output

BATCH_TOKENS = 4096
"""Source tokens, with padding, that the graph reads at once."""


class Found(NamedTuple):
    """What the graph found for one source."""

    ids: list[int]
    """EOS included where it was reached."""
    score: float
    ended: bool
    """False where a length limit cut the output off."""


@dataclass(frozen=True)
class Package:
    """An ONNX file that Transom exported, ready to run."""

    path: Path
    metadata: Metadata
    session: onnxruntime.InferenceSession

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        threads: int | None = None,
        providers: Sequence[str] = (CPU,),
    ) -> Package:
        """Open the package in `path`; `threads` None takes one for each physical core.

        Raises:
            PackageError: The file is not a package, is damaged, or asks for what is not here.
            MemoryFailure: The file does not fit into memory.
        """
        path = Path(path)
        try:
            data = read_file(path)
            if is_damaged(data):
                raise PackageError("damaged: its content is not what its digest was made of")
            session = open_session(data, threads=threads, providers=providers)
            metadata = read_metadata(session.get_modelmeta().custom_metadata_map)
            check_signature(session)
        except PackageError as error:
            raise PackageError(f"{printable(path.absolute())}: {error}") from None
        return cls(path, metadata, session)

    def generate(
        self,
        lines: Sequence[str],
        *,
        batch_tokens: int = BATCH_TOKENS,
        max_length: int | None = None,
        first_line: int = 1,
        noun: str = "line",
    ) -> list[Output]:
        """Write one output for each line, in order; a line without text gives an empty one.

        `max_length` counts EOS; it can only shorten what the blueprint allows. Messages name a
        line by `noun` and its number, which is `first_line` for the first.

        Raises:
            DataError: A line is longer than the model's positions reach, or no Unicode text.
            MemoryFailure: There is not enough for the lines that are read at once.
        """
        encoded = encode_lines(
            self.metadata.source_tokenizer,
            lines,
            limit=self.metadata.source_limit,
            first_line=first_line,
            noun=noun,
        )
        found = self.generate_ids(
            encoded,
            batch_tokens=batch_tokens,
            max_length=max_length,
            first_line=first_line,
            noun=noun,
        )
        texts = self.metadata.target_tokenizer.decode(one.ids for one in found)
        return [
            Output(text, one.score, len(one.ids), one.ended)
            for text, one in zip(texts, found, strict=True)
        ]

    def generate_ids(
        self,
        sources: Iterable[ArrayLike],
        *,
        batch_tokens: int = BATCH_TOKENS,
        max_length: int | None = None,
        first_line: int = 1,
        noun: str = "line",
    ) -> list[Found]:
        """Search the best target of each source: ids of any integer type, EOS at the end.

        Padding behind EOS may be there or not. An empty source gives an empty target.

        Raises:
            PackageError: Ids are no whole numbers, or outside the vocabulary.
            DataError: A source is longer than the model's positions reach.
            MemoryFailure: There is not enough for the sources that are read at once.
        """
        rows = [
            self._check(ids, f"{noun} {number}")
            for number, ids in enumerate(sources, start=first_line)
        ]
        found = [Found([], 0.0, ended=True)] * len(rows)
        full = [index for index, row in enumerate(rows) if len(row)]
        lengths = [len(rows[index]) for index in full]
        for group in by_length(lengths, batch_tokens=batch_tokens):
            batch = [full[place] for place in group]
            try:
                results = self._search([rows[index] for index in batch], max_length)
            except ENGINE_ERRORS as error:
                longest = max(batch, key=lambda index: len(rows[index]))
                place = f"{noun} {first_line + longest}, of {len(rows[longest]):,} tokens"
                raise self._failed(error, place, len(batch)) from None
            for index, one in zip(batch, results, strict=True):
                found[index] = one
        return found

    def _check(self, ids: ArrayLike, place: str) -> NDArray[np.int64]:
        """One source as the graph takes it; `place` names it."""
        row = np.asarray(ids)
        if row.size == 0:
            return np.empty(0, np.int64)
        if row.ndim != 1 or row.dtype.kind not in "iu":
            raise PackageError(
                f"{place}: source ids are a list of whole numbers, not {row.dtype} "
                f"of shape {row.shape}"
            )
        pad_id, size = self.metadata.pad_id, self.metadata.source_vocab_size
        row = row[: int(np.flatnonzero(row != pad_id).max(initial=-1)) + 1]  # padding at the end
        wrong = row[(row < 0) | (row >= size) | (row == pad_id)]
        if wrong.size:
            raise PackageError(
                f"{place}: id {wrong[0]} is not of the source vocabulary: "
                f"0 to {size - 1}, without padding"
            )
        check_length(len(row), self.metadata.source_limit, place)
        return row.astype(np.int64)

    def _search(self, rows: list[NDArray[np.int64]], max_length: int | None) -> list[Found]:
        """Run the graph on `rows` at once."""
        shape = (len(rows), max(map(len, rows)))
        source_ids = np.full(shape, self.metadata.pad_id, np.int64)
        for place, row in enumerate(rows):
            source_ids[place, : len(row)] = row
        inputs = {"source_ids": source_ids}
        if max_length is not None:
            inputs["max_length"] = np.array(max_length, np.int64)
        target_ids, scores, lengths, ended = self.session.run(
            ["target_ids", "scores", "lengths", "ended"], inputs
        )
        return [
            Found(ids[0, : length[0]].tolist(), float(score[0]), bool(end[0]))
            for ids, score, length, end in zip(target_ids, scores, lengths, ended, strict=True)
        ]

    def _failed(self, error: Exception, longest: str, count: int) -> PackageError | MemoryFailure:
        """What it means that the graph did not run on `count` rows, of them the `longest`."""
        if not is_out_of_memory(error):
            path = printable(self.path.absolute())
            return PackageError(f"{path}: the graph failed: {first_line(error)}")
        others = f" and {count - 1:,} read with it" if count > 1 else ""
        return MemoryFailure(
            f"not enough memory: for {longest}{others}; shorter lines need less, "
            "and so do shorter outputs"
        )
