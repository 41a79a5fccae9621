"""A run's own lines and random ones into the batches that a proof compares."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from builder.errors import DataError, RunError, printable
from builder.generate import Generator, pad
from builder.run import PROOF, Run
from builder.runtime.options import ALLOWED
from builder.search.found import EOS_ID, PAD_ID
from builder.text.batches import by_length

BATCH_TOKENS = 1024
LONGEST = 512
"""The most tokens of an output that are compared, and the farthest limit of positions that random
lines go to."""
FEW = 16
"""Tokens of the outputs that are compared in every place, and with other options."""
USUAL = 256
"""As far do they go where there is no such limit."""


class Batch(NamedTuple):
    """Sources that are compared together."""

    source_ids: Int[Tensor, "batch source"]
    asked: dict[str, int | float]
    """Options that differ from the defaults."""
    prefix: Int[Tensor, "batch prefix"] | None = None
    """What the outputs begin with, where the search takes that."""

    def beginnings(self, generator: Generator) -> Int[Tensor, "batch prefix"] | None:
        """What the search takes: free places where nothing is asked for."""
        if not generator.takes_prefix:
            return None
        free = torch.full((len(self.source_ids), 1), -1)
        return free if self.prefix is None else self.prefix


def random_batches(generator: Generator) -> list[Batch]:
    """Draw sources of the shapes that break exports, always the same ones.

    Ragged rows, a batch of one, sources of 1, 2 and the most tokens; EOS ends each. The first are
    searched for all beams, with every option changed that can be, and with beginnings, up to a few
    tokens: in longer outputs the places behind the best are often equally good. The last batch but
    those has rows that end at once.
    """
    model, options = generator.decoding.model, generator.options
    source, target = model.source_embedding, model.target_embedding
    longest, limit = _reach(source.max_length), _reach(target.max_length)
    vocab_size = source.tokens.num_embeddings
    numbers = np.random.default_rng(2017)
    shapes = [(5, min(17, longest)), (1, 1), (1, 2), (2, longest)]
    drawn = [_draw(numbers, rows, width, vocab_size) for rows, width in shapes]
    all_beams = {"n_best": options["beams"]} if "beams" in options else {}
    few: dict[str, int | float] = {"max_length": min(FEW, limit)}
    batches = [Batch(ids, {"max_length": limit}) for ids in drawn]
    batches += [Batch(ids, {**few, **all_beams}) for ids in drawn if all_beams]
    batches += [Batch(drawn[0], {**few, name: to}) for name, to in _changed(options).items()]
    batches.append(Batch(drawn[0], {**all_beams, "max_length": 1}))
    if generator.takes_prefix:
        prefix = _draw(numbers, 5, min(3, limit), len(model.output))
        prefix = torch.where(prefix <= EOS_ID, -1, prefix)
        batches.append(Batch(drawn[0], {**few, **all_beams}, prefix))
    return batches


def _changed(options: Mapping[str, int | float]) -> dict[str, int | float]:
    """Another value for each option but the limit, where a file may be asked for one."""
    beams, n_best, seed = (options.get(name, 1) for name in ("beams", "n_best", "seed"))
    temperature = options.get("temperature", 1.0)
    others: dict[str, tuple[int | float, ...]] = {
        "min_length": (5, 4),
        "beams": (beams + 1,),
        "length_penalty": (options.get("length_penalty", 0.0) + 1.0,),
        "temperature": (temperature * 2, temperature / 2),
        "top_k": (3, 2),
        "top_p": (0.5, 0.4),
        "seed": (seed + 1, seed - 1),
        "n_best": (1,) if "beams" in options else (n_best + 1, n_best - 1),
    }
    allowed = {
        name: [v for v in others.get(name, ()) if v != value and ALLOWED[name].holds(v)]
        for name, value in options.items()
    }
    return {name: values[0] for name, values in allowed.items() if values}


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
    limit_all: dict[str, int | float] = {"max_length": LONGEST}
    return [Batch(pad([fitting[index] for index in group]), limit_all) for group in groups]


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
