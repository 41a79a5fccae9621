"""A run's own pairs into the judge that reduced precision has to satisfy."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from builder.errors import RunError, printable
from builder.export.damage import Feed
from builder.export.gate import Judge, Outcome
from builder.export.lines import BATCH_TOKENS
from builder.export.side_data import Content
from builder.generate import pad
from builder.metrics import score
from builder.run import PROOF, Run
from builder.text.batches import by_length

Points = Callable[[Sequence[str], Sequence[str]], float]
"""Scores outputs against references; more is better."""


def points_of(run: Run) -> Points:
    """Return the metric that the run was validated by, such that more is better.

    The loss is of no text: of such a run, the lines that equal their reference are counted.
    """
    training = run.blueprint.training
    metric = "exact_match" if training is None else training.validate_.metric
    metric = "exact_match" if metric == "loss" else metric

    def points(outputs: Sequence[str], references: Sequence[str]) -> float:
        scores = score(outputs, references, text_metrics=metric in ("bleu", "chrf"))
        return 100 - scores[metric] if metric.endswith("_error") else scores[metric]

    return points


def make_judge(
    run: Run,
    limit: int | None,
    points: Points,
    options: Mapping[str, np.ndarray] | None = None,
    *,
    takes_prefix: bool = False,
) -> tuple[Judge, list[Feed]]:
    """Return what scores a file on the run's pairs of at most `limit` source tokens, and its feeds.

    `options` are the graph's inputs beside the source, where it has no default for them.

    Raises:
        RunError: There are no pairs, or they are damaged.
    """
    sources, targets = _pairs(run)
    encoded = run.source_tokenizer.encode(sources)
    groups = _groups([len(ids) for ids in encoded], limit)
    if not groups:
        raise RunError(f"{_place(run)}: no pair fits the model; no precision can be proved")
    feeds: list[Feed] = []
    for group in groups:
        feed = {"source_ids": pad([encoded[place] for place in group]).numpy(), **(options or {})}
        if takes_prefix:
            feed["target_prefix"] = np.full((len(group), 1), -1)
        feeds.append(feed)
    references = [targets[place] for group in groups for place in group]

    def judge(file: Content) -> Outcome:
        engine = file.open()
        outputs: list[list[int]] = []
        for feed in feeds:
            ids, lengths = engine.run(["target_ids", "lengths"], feed)
            rows = zip(ids[:, 0].tolist(), lengths[:, 0].tolist(), strict=True)
            outputs += [row[:length] for row, length in rows]
        return Outcome(points(run.target_tokenizer.decode(outputs), references), outputs)

    return judge, feeds


def _groups(lengths: Sequence[int], limit: int | None) -> list[list[int]]:
    """Put the places of what can be read, neither empty nor too long, into batches."""
    fitting = [i for i, n in enumerate(lengths) if n > 1 and (limit is None or n <= limit)]
    batches = by_length([lengths[place] for place in fitting], batch_tokens=BATCH_TOKENS)
    return [[fitting[index] for index in batch] for batch in batches]


def _place(run: Run) -> str:
    return printable((run.folder / PROOF).absolute())


def _pairs(run: Run) -> tuple[list[str], list[str]]:
    """Read the sources and targets of the proof."""
    place = _place(run)
    try:
        lines = (
            (run.folder / PROOF).read_bytes().decode().split("\n")
        )  # a line holds U+2028 and others as they are
        pairs = [json.loads(line) for line in lines if line]
        sources, targets = ([str(pair[side]) for pair in pairs] for side in ("source", "target"))
    except OSError as error:
        raise RunError(
            f"{place}: {str(error.strerror).lower()}; without it nothing is proved"
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        reason = printable(f"{type(error).__name__}: {error}")
        raise RunError(f"{place}: damaged: {reason}") from None
    return sources, targets
