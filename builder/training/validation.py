"""A network and validation pairs into scores and samples."""

from __future__ import annotations

import math
from dataclasses import dataclass

from builder.blueprint.generation import Strategy
from builder.blueprint.training import Metric
from builder.data.batches import plan_batches, split_microbatches
from builder.generate import generate_lines
from builder.metrics import score
from builder.nn.transformer import Transformer
from builder.training.batch import tensors
from builder.training.corpus import Corpus
from builder.training.loss import plain_loss
from builder.training.watch import Sample

FORWARD_TOKENS = 4096
"""Positions of either side in one forward pass, padding counted."""
SAMPLES = 4
HIGHER_IS_BETTER = ("exact_match", "bleu", "chrf")


@dataclass(frozen=True)
class Measured:
    """What a validation found."""

    metrics: dict[str, float]
    """Always `loss` (per target token, unsmoothed) and `perplexity`, its exponential."""
    samples: tuple[Sample, ...]


def measure(model: Transformer, corpus: Corpus, *, metric: Metric, strategy: Strategy) -> Measured:
    """Score `model` on the validation pairs, and write out those that `metric` needs.

    Dropout is off meanwhile and no generator is drawn from.
    """
    model.eval()
    try:
        loss = validation_loss(model, corpus)
        outputs = _write(model, corpus, strategy, SAMPLES if metric == "loss" else None)
    finally:
        model.train()
    found = {"loss": loss, "perplexity": math.exp(loss) if loss < 700 else math.inf}
    targets = corpus.valid_pairs.targets
    if metric != "loss":
        found |= score(outputs, targets, text_metrics=metric in ("bleu", "chrf"))
    samples = zip(corpus.valid_pairs.sources, targets, outputs[:SAMPLES], strict=False)
    return Measured(found, tuple(Sample(*sample) for sample in samples))


def validation_loss(model: Transformer, corpus: Corpus) -> float:
    """The mean cross-entropy over all target tokens, however they are batched."""
    store = corpus.valid
    sources, targets = store.source.lengths, store.target.lengths
    batches = plan_batches(sources, targets, batch_tokens=FORWARD_TOKENS, seed=0, epoch=0)
    parts = [
        part
        for batch in batches
        for part in split_microbatches(batch, targets, sources, FORWARD_TOKENS)
    ]
    total = math.fsum(plain_loss(model, *tensors(store, part)) for part in parts)
    return total / len(store.target.ids)


def _write(model: Transformer, corpus: Corpus, strategy: Strategy, count: int | None) -> list[str]:
    lines = corpus.valid_pairs.sources[:count]
    written = generate_lines(model, corpus.tokenizers, lines, strategy=strategy)
    return [generation.text for generation in written]


def is_better(value: float, than: float | None, metric: Metric) -> bool:
    """Tell whether `value` beats the best one before; an equal one does not."""
    if than is None:
        return True
    return value > than if metric in HIGHER_IS_BETTER else value < than
