from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from builder.options import NO_LIMIT
from builder.search.found import EOS_ID
from builder.search.sampling import draw, gumbel, hypothesis_words, source_keys, token_words
from tests.search.slow_sampling import (
    NEVER,
    SEEDS,
    asked,
    excess,
    keys_of,
    many,
    random_scores,
    slow_draw,
    slow_kept,
    slow_word,
)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"temperature": 0.5},
        {"temperature": 3.0},
        {"top_k": 4},
        {"top_p": 0.75},
        {"temperature": 2.0, "top_k": 5, "top_p": 0.5},
        {"temperature": 0.25, "top_k": 2, "top_p": 0.875},
    ],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_draws_agree_with_the_reference(options: dict[str, Any], seed: int) -> None:
    log_probs, keys = random_scores(5, 4, 13, seed=7), keys_of(5)

    drawn = draw(log_probs, keys, torch.tensor(2), asked(seed=seed, **options))

    for row, sample in np.ndindex(5, 4):
        word = slow_word(int(keys[row]), sample, 2, seed)
        assert drawn[row, sample] == slow_draw(log_probs[row, sample].tolist(), word, options)
    assert len(set(drawn.flatten().tolist())) > 2


@pytest.mark.parametrize("top_k", [1, 2, 5, 11, NO_LIMIT])
@pytest.mark.parametrize("top_p", [0.01, 0.3, 0.8, 0.999, 1.0])
def test_nothing_beyond_the_limits_is_ever_drawn_and_all_within_is(
    top_k: int, top_p: float
) -> None:
    scores = random_scores(1, 1, 9, seed=3)
    kept = slow_kept(scores[0, 0].tolist(), top_k, top_p)

    counts = many(scores[0, 0].exp().tolist(), 20_000, top_k=top_k, top_p=top_p)

    likely = (scores[0, 0] > math.log(1e-3)).tolist()
    assert {token for token in kept if likely[token]} <= set(counts.nonzero().flatten().tolist())
    inside = torch.isin(torch.arange(9), torch.tensor(kept))
    probs = torch.where(inside, scores[0, 0].exp(), 0.0)
    if top_k > 1 and len(kept) > 1:
        assert abs(excess(counts, probs / probs.sum())) < 4
    else:
        assert counts.nonzero().flatten().tolist() == kept


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("temperature", [0.25, 1.0, 4.0])
def test_draws_are_as_frequent_as_they_are_likely(seed: int, temperature: float) -> None:
    probs = torch.tensor([0.0, 0.4, 0.001, 0.25, 0.05, 0.199, 0.1])

    counts = many(probs.tolist(), 100_000, seed=seed, temperature=temperature)

    tempered = probs ** (1 / temperature)
    assert abs(excess(counts, tempered / tempered.sum())) < 4


def test_a_rows_draw_depends_on_nothing_beside_it() -> None:
    scores, ids = random_scores(6, 5, 30), torch.randint(3, 9, (6, 4))
    options, position = asked(seed=5, temperature=1.5, top_k=20, top_p=0.9), torch.tensor(3)

    whole = draw(scores, source_keys(ids), position, options)

    padded = torch.cat([ids, torch.zeros(6, 3, dtype=torch.int64)], dim=1)
    assert torch.equal(draw(scores, source_keys(padded), position, options), whole)
    order = torch.tensor([4, 0, 5, 2, 1, 3])
    shuffled = draw(scores[order], source_keys(padded[order]), position, options)
    assert torch.equal(shuffled, whole[order])
    for row in range(6):
        alone = draw(scores[row : row + 1], source_keys(ids[row : row + 1]), position, options)
        assert torch.equal(alone, whole[row : row + 1])
    for samples in range(1, 5):  # Fewer samples are the first ones of more.
        fewer = draw(scores[:, :samples], source_keys(ids), position, options)
        assert torch.equal(fewer, whole[:, :samples])
    scores[:, 0] = scores[:, 0].flip(-1)
    assert torch.equal(draw(scores, source_keys(ids), position, options)[:, 1:], whole[:, 1:])


def test_another_seed_sample_position_or_source_draws_anew() -> None:
    """GEN-12: the same seed draws the same, another one something else."""
    scores = torch.zeros(40, 2, 500)
    keys, zero = keys_of(40), torch.tensor(0)

    def drawn(keys: Tensor, position: Tensor, seed: int) -> Tensor:
        return draw(scores, keys, position, asked(seed=seed))

    first = drawn(keys, zero, 5)
    assert torch.equal(drawn(keys, zero, 5), first)
    assert torch.equal(draw(scores, keys, zero, asked()), drawn(keys, zero, 0))
    others = [
        drawn(keys, zero, 6),
        drawn(keys, zero, 5 + 2**32),
        drawn(keys, zero, -5),
        drawn(keys, zero + 1, 5),
        drawn(keys_of(40, seed=1), zero, 5),
        first.flip(1),
    ]
    for other in others:  # Of 80 draws from 500 tokens each 500th is the same by chance.
        assert (other == first).sum() <= 3
    assert len(set(first.flatten().tolist())) > 60


@pytest.mark.parametrize("temperature", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("top_p", [0.5, 1.0])
def test_the_likeliest_one_alone_is_greedy(temperature: float, top_p: float) -> None:
    """GEN-11: of equals the first, as the search without sampling takes it."""
    scores = random_scores(50, 4, 20)
    best = scores.argmax(dim=-1)
    later = torch.where(torch.arange(20) > best[..., None], scores.amax(dim=-1)[..., None], scores)

    for log_probs in (scores, later, torch.zeros(50, 4, 20)):
        options = asked(seed=3, top_k=1, temperature=temperature, top_p=top_p)
        drawn = draw(log_probs, keys_of(50), torch.tensor(0), options)
        assert torch.equal(drawn, log_probs.argmax(dim=-1))


@pytest.mark.parametrize("top_k", [20, 21, 200, NO_LIMIT])
def test_a_limit_that_takes_nothing_away_changes_no_draw(top_k: int) -> None:
    scores, keys, position = random_scores(50, 4, 20), keys_of(50), torch.tensor(4)
    free = draw(scores, keys, position, asked(seed=1))

    for options in ({"top_k": top_k}, {"top_p": 1.0}, {"top_k": top_k, "top_p": 1.0}):
        assert torch.equal(draw(scores, keys, position, asked(seed=1, **options)), free)


def test_the_rarest_stay_where_all_may_be_drawn() -> None:
    """A token too rare to count in a float32 sum is drawn where its noise is great enough."""
    keys, zero = torch.arange(64), torch.tensor(0)
    words = hypothesis_words(keys, torch.arange(1), zero, None)
    noise = gumbel(token_words(words, 60_000))[:, 0]  # [batch, vocab]
    lowest, highest = noise.min(dim=-1), noise.max(dim=-1)
    gap, row = (highest.values - lowest.values).max(dim=0)
    common, rare = int(lowest.indices[row]), int(highest.indices[row])
    log_probs = torch.full((1, 1, 60_000), NEVER)
    log_probs[0, 0, common], log_probs[0, 0, rare] = 0.0, 0.25 - gap

    assert 1 + log_probs[0, 0, rare].exp() == 1
    for limits in ({}, {"top_p": 1.0}, {"top_k": 2}, {"top_k": NO_LIMIT, "top_p": 1.0}):
        assert draw(log_probs, keys[row : row + 1], zero, asked(**limits)) == rare
    assert draw(log_probs, keys[row : row + 1], zero, asked(top_p=0.99)) == common


@pytest.mark.parametrize("temperature", [0.3, 0.7, 1.1, 1.7, 3.0])
def test_dividing_makes_no_equals_of_the_likeliest(temperature: float) -> None:
    """Neighbouring numbers may have the same quotient; the likeliest of them is still greedy."""
    best = torch.linspace(-3.0, -0.1, 200)
    pairs = torch.stack([torch.nextafter(best, torch.tensor(NEVER)), best], dim=1)[:, None]
    assert (pairs / temperature).diff(dim=2).eq(0).any()

    drawn = draw(pairs, keys_of(200), torch.tensor(0), asked(top_k=1, temperature=temperature))

    assert (drawn == 1).all()


def test_equals_of_the_last_one_kept_stay() -> None:
    probs = [0.0, 0.3, 0.2, 0.2, 0.2, 0.1]

    assert many(probs, 2000, top_k=2).nonzero().flatten().tolist() == [1, 2, 3, 4]
    assert many(probs, 2000, top_p=0.4).nonzero().flatten().tolist() == [1, 2, 3, 4]
    probs[3:5] = [0.1999, 0.2001]  # No longer equal.
    assert many(probs, 2000, top_k=2).nonzero().flatten().tolist() == [1, 4]
    assert many(probs, 2000, top_k=5, top_p=0.2).nonzero().flatten().tolist() == [1]


def test_top_p_counts_what_top_k_left() -> None:
    """0.4 and 0.3 are all of what two hold; 0.55 of it is within the first alone, 0.6 not."""
    probs = [0.0, 0.4, 0.3, 0.2, 0.1]

    assert many(probs, 2000, top_k=2, top_p=0.55).nonzero().flatten().tolist() == [1]
    assert many(probs, 2000, top_k=2, top_p=0.6).nonzero().flatten().tolist() == [1, 2]
    assert many(probs, 2000, top_p=0.55).nonzero().flatten().tolist() == [1, 2]


@pytest.mark.parametrize("temperature", [0.0, 1e-45, 1e-38, 1e-6])
def test_the_least_temperatures_are_greedy(temperature: float) -> None:
    """GEN-10: a 0 is refused before; here it is never a number that is none."""
    scores = random_scores(50, 4, 20)

    for limits in ({}, {"top_k": 5}, {"top_p": 0.9}):
        options = asked(temperature=temperature, **limits)
        drawn = draw(scores, keys_of(50), torch.tensor(0), options)
        assert torch.equal(drawn, scores.argmax(dim=-1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("temperature", [0.0, 1e-38, 1.0, 1e38, math.inf])
@pytest.mark.parametrize("top_k", [-1, 0, 1, 3, NO_LIMIT])
@pytest.mark.parametrize("top_p", [0.0, 1e-38, 0.5, 1.0])
def test_what_is_barred_is_never_drawn(
    dtype: torch.dtype, temperature: float, top_k: int, top_p: float
) -> None:
    """GEN-16: pads and beginnings have no probability; one row has a single token left."""
    scores = random_scores(30, 3, 12).to(dtype)
    scores[::2, :, 3:9] = NEVER
    scores[0] = NEVER
    scores[0, :, EOS_ID] = -80.0
    options = asked(seed=2, temperature=temperature, top_k=top_k, top_p=top_p)

    drawn = draw(scores, keys_of(30), torch.tensor(1), options)

    assert (scores.gather(2, drawn[..., None]) > NEVER).all()
    assert (drawn[0] == EOS_ID).all()
