from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from builder.blueprint.blueprint import Blueprint
from builder.generate import generate_lines
from builder.nn.transformer import Transformer
from builder.training import validation
from builder.training.agreement import needed, with_vocabulary
from builder.training.corpus import Corpus, read_corpus
from builder.training.learner import Learner
from builder.training.validation import is_better, measure, validation_loss


def prepare(blueprint: Blueprint) -> tuple[Learner, Corpus]:
    tokenizer, data, training = needed(blueprint)
    corpus = read_corpus(data, tokenizer, measured=training.validate_.pairs)
    return Learner(with_vocabulary(blueprint, corpus.tokenizers).model, training), corpus


def test_loss_does_not_depend_on_the_batches(
    load: Callable[..., Blueprint], monkeypatch: pytest.MonkeyPatch
) -> None:
    learner, corpus = prepare(load("model.dropout=0"))
    losses = []
    positions: list[int] = []
    honest = validation.plain_loss

    def plain_loss(model: Transformer, *ids: Tensor) -> float:
        positions.append(max(side.numel() for side in ids))
        return honest(model, *ids)

    monkeypatch.setattr(validation, "plain_loss", plain_loss)
    for tokens in (1, 20, 1000):
        monkeypatch.setattr(validation, "FORWARD_TOKENS", tokens)
        positions.clear()
        losses.append(validation_loss(learner.model, corpus))
        assert tokens == 1 or max(positions) <= tokens

    assert losses[1:] == pytest.approx(losses[:1] * 2, rel=1e-5)
    assert losses[0] == pytest.approx(math.log(learner.model.output.shape[0]), rel=0.5)


def test_long_sources_do_not_share_one_pass(
    load: Callable[..., Blueprint], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "task" / "valid.tsv").write_text("abcdeabcde\ta\n" * 50)
    learner, corpus = prepare(load())
    sizes = []
    monkeypatch.setattr(validation, "FORWARD_TOKENS", 100)
    monkeypatch.setattr(validation, "plain_loss", lambda _, *ids: sizes.append(ids[0].shape) or 0.0)

    validation_loss(learner.model, corpus)

    assert set(sizes) == {(9, 11), (5, 11)}


@pytest.mark.parametrize("kind", ["greedy", "beam", "sampling"])
def test_measuring_twice_is_equal_and_draws_nothing(
    load: Callable[..., Blueprint], kind: str
) -> None:
    """Sampling has random numbers of its own."""
    learner, corpus = prepare(load("model.dropout=0.5", "training.validate.pairs=20"))
    generator = torch.get_rng_state()
    strategy = load(f"generation.kind={kind}").generation

    first = measure(learner.model, corpus, metric="exact_match", strategy=strategy)
    second = measure(learner.model, corpus, metric="exact_match", strategy=strategy)

    assert first == second
    assert torch.equal(torch.get_rng_state(), generator)
    assert learner.model.training


def test_measures_what_the_metric_needs(load: Callable[..., Blueprint]) -> None:
    learner, corpus = prepare(load("training.validate.pairs=7"))
    strategy = load().generation

    plain = measure(learner.model, corpus, metric="loss", strategy=strategy)
    text = measure(learner.model, corpus, metric="chrf", strategy=strategy)

    assert len(corpus.valid) == 7
    assert set(plain.metrics) == {"loss", "perplexity"}
    assert plain.metrics["perplexity"] == pytest.approx(math.exp(plain.metrics["loss"]))
    assert set(text.metrics) >= {"loss", "perplexity", "exact_match", "chrf"}
    assert plain.samples == text.samples
    assert [sample.source for sample in plain.samples] == corpus.valid_pairs.sources[:4]


@pytest.mark.parametrize("metric", ["loss", "exact_match"])
def test_samples_take_turns(load: Callable[..., Blueprint], metric: str) -> None:
    learner, corpus = prepare(load("training.validate.pairs=6"))
    strategy = load().generation

    turns = [
        measure(learner.model, corpus, metric=metric, strategy=strategy, turn=turn)
        for turn in range(4)
    ]

    pairs = [*zip(corpus.valid_pairs.sources, corpus.valid_pairs.targets, strict=True)]
    shown = [[(sample.source, sample.target) for sample in turn.samples] for turn in turns]
    assert shown[:3] == [pairs[:4], pairs[4:] + pairs[:2], pairs[2:]]
    assert turns[3] == turns[0]
    outputs = {sample.source: sample.output for turn in turns for sample in turn.samples}
    written = generate_lines(learner.model.eval(), corpus.tokenizers, [*outputs], strategy=strategy)
    assert [output.text for output in written] == [*outputs.values()]


def test_fewer_pairs_than_samples_are_shown_once(load: Callable[..., Blueprint]) -> None:
    learner, corpus = prepare(load("training.validate.pairs=3"))

    measured = measure(learner.model, corpus, metric="loss", strategy=load().generation, turn=1)

    assert sorted(s.source for s in measured.samples) == sorted(corpus.valid_pairs.sources)


@pytest.mark.parametrize(
    ("metric", "value", "best", "better"),
    [
        ("loss", 2.0, 3.0, True),
        ("loss", 3.0, 3.0, False),
        ("char_error", 3.0, 2.0, False),
        ("exact_match", 3.0, 2.0, True),
        ("bleu", 2.0, 3.0, False),
        ("loss", 9.0, None, True),
        ("loss", math.nan, 1.0, False),
    ],
)
def test_better_has_a_direction(
    metric: str, value: float, best: float | None, *, better: bool
) -> None:
    assert is_better(value, best, metric) is better
