"""Pairs into how likely the graph of a package finds each target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from builder.errors import DataError, PackageError
from builder.runtime.metadata import Metadata
from builder.runtime.options import PLAIN
from builder.runtime.search import Found, Graph, Row, longest_output
from builder.text.encode import encode_pairs
from builder.text.output import Scored


def score_pairs(
    graph: Graph,
    metadata: Metadata,
    pairs: Sequence[tuple[str, str]],
    *,
    batch_tokens: int,
    first_line: int = 1,
    noun: str = "line",
) -> list[Scored]:
    """Make the graph write each target, EOS included, and take the scores of what it writes.

    Raises:
        DataError, PackageError, MemoryFailure: As `Package.score`.
    """
    encoded = encode_pairs(
        (metadata.source_tokenizer, metadata.target_tokenizer),
        pairs,
        limit=metadata.source_limit,
        first_line=first_line,
        noun=noun,
    )
    options = {**metadata.options, **{k: v for k, v in PLAIN.items() if k in metadata.options}}
    rows = [
        Row(np.array(source, np.int64), f"{noun} {number}", target)
        for number, (source, target) in enumerate(encoded, first_line)
    ]
    for row in rows:
        limit = longest_output(row, metadata, options)
        if len(row.ids) and len(row.prefix) > limit:
            raise DataError(
                f"{row.place}: the target has {len(row.prefix):,} tokens, and an output of this "
                f"file may have {limit:,}: export the run with a greater "
                "`generation.max_length.plus`, or give the run folder"
            )
    found = graph.search(rows, options, batch_tokens=batch_tokens)
    return [_scored(row, outputs) for row, outputs in zip(rows, found, strict=True)]


def _scored(row: Row, outputs: Sequence[Found]) -> Scored:
    """What it means that the graph found `outputs` where it had to write the prefix of `row`."""
    if not len(row.ids):
        return Scored(0.0, 0)
    if not outputs:
        return Scored(float("-inf"), len(row.prefix))
    if outputs[0].ids != list(row.prefix):
        raise PackageError(f"{row.place}: the graph did not write the target that it had to")
    return Scored(outputs[0].score, len(row.prefix))
