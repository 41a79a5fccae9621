"""A run's own lines and random ones into the batches that a proof compares."""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from builder.errors import DataError, RunError, printable
from builder.generate import pad
from builder.nn.transformer import Transformer
from builder.run import PROOF, Run
from builder.search.greedy import EOS_ID, PAD_ID
from builder.text.batches import by_length

BATCH_TOKENS = 1024
LONGEST = 512
"""The most tokens of an output that are compared, and the farthest limit of positions that random
lines go to."""
USUAL = 256
"""As far do they go where there is no such limit."""


class Batch(NamedTuple):
    """Sources that are compared together."""

    source_ids: Int[Tensor, "batch source"]
    max_length: int
    """Outputs are compared up to so many tokens."""


def random_batches(model: Transformer) -> list[Batch]:
    """Draw sources of the shapes that break exports, always the same ones.

    Ragged rows, a batch of one, sources of 1, 2 and the most tokens; EOS ends each. The last batch
    has rows that end at once.
    """
    source, target = model.source_embedding, model.target_embedding
    longest, max_length = _reach(source.max_length), _reach(target.max_length)
    vocab_size = source.tokens.num_embeddings
    generator = np.random.default_rng(2017)
    shapes = [(5, min(17, longest)), (1, 1), (1, 2), (2, longest)]
    drawn = [_draw(generator, rows, width, vocab_size) for rows, width in shapes]
    return [*(Batch(source_ids, max_length) for source_ids in drawn), Batch(drawn[0], 1)]


def _reach(limit: int | None) -> int:
    return limit if limit is not None and limit <= LONGEST else USUAL


def _draw(generator: np.random.Generator, rows: int, width: int, vocab_size: int) -> Tensor:
    """Random ids in rows of random lengths, the first as long as possible."""
    ids = generator.integers(3, vocab_size, (rows, width))
    lengths = generator.integers(1, width + 1, rows)
    lengths[0] = width
    ids[np.arange(rows), lengths - 1] = EOS_ID
    ids[np.arange(width)[None] >= lengths[:, None]] = PAD_ID
    return torch.from_numpy(ids)


def own_batches(run: Run, limit: int | None) -> list[Batch]:
    """Read the run's validation sources, those of at most `limit` tokens.

    Raises:
        RunError: They are missing or damaged.
    """
    sources = _own_sources(run)
    try:
        encoded = run.source_tokenizer.encode(sources)
    except DataError as error:
        place = printable((run.folder / PROOF).absolute())
        raise RunError(f"{place}: damaged: {error}") from None
    fitting = [ids for ids in encoded if len(ids) > 1 and (limit is None or len(ids) <= limit)]
    groups = by_length([len(ids) for ids in fitting], batch_tokens=BATCH_TOKENS)
    return [Batch(pad([fitting[index] for index in group]), LONGEST) for group in groups]


def _own_sources(run: Run) -> list[str]:
    path = run.folder / PROOF
    place = printable(path.absolute())
    try:
        lines = path.read_bytes().decode().split("\n")  # a line holds U+2028 and others as they are
        sources = [json.loads(line)["source"] for line in lines if line]
    except OSError as error:
        reason = str(error.strerror).lower()
        raise RunError(f"{place}: {reason}; without it nothing can be proved") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        reason = printable(f"{type(error).__name__}: {error}")
        raise RunError(f"{place}: damaged: {reason}") from None
    for source in sources:
        if not isinstance(source, str):
            raise RunError(f"{place}: damaged: a `source` is text, not {printable(repr(source))}")
    return sources
