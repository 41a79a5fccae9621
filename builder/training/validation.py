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


def measure(
    model: Transformer, corpus: Corpus, *, metric: Metric, strategy: Strategy, turn: int = 0
) -> Measured:
    """Score `model` on the validation pairs, and write out those that `metric` needs.

    Each `turn` shows the samples after those of the one before, round and round. Dropout is off
    meanwhile and no generator is drawn from.
    """
    sources, targets = corpus.valid_pairs.sources, corpus.valid_pairs.targets
    shown = _shown(len(sources), turn)
    written = shown if metric == "loss" else range(len(sources))
    model.eval()
    try:
        loss = validation_loss(model, corpus)
        lines = [sources[index] for index in written]
        outputs = generate_lines(model, corpus.tokenizers, lines, strategy=strategy)
    finally:
        model.train()
    texts = dict(zip(written, (output.text for output in outputs), strict=True))
    found = {"loss": loss, "perplexity": math.exp(loss) if loss < 700 else math.inf}
    if metric != "loss":
        found |= score([*texts.values()], targets, text_metrics=metric in ("bleu", "chrf"))
    samples = (Sample(sources[index], targets[index], texts[index]) for index in shown)
    return Measured(found, tuple(samples))


def _shown(pairs: int, turn: int) -> list[int]:
    """The pairs that are shown in one turn."""
    return [(turn * SAMPLES + place) % pairs for place in range(min(SAMPLES, pairs))]


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


def is_better(value: float, than: float | None, metric: Metric) -> bool:
    """Tell whether `value` beats the best one before; an equal one does not."""
    if than is None:
        return True
    return value > than if metric in HIGHER_IS_BETTER else value < than
