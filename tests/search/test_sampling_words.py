"""The whole numbers that draws are made of, and the noise that they become."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from builder.search.sampling import gumbel, hypothesis_words, source_keys, token_words
from tests.search.slow_sampling import (
    SEEDS,
    excess,
    flat,
    keys_of,
    slow_key,
    slow_token_word,
    slow_word,
)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_integer_agrees_with_the_reference(seed: int) -> None:
    ids = [[7, 3, 9, 4], [2**31 - 1, 5, 0, 0], [4, 4, 4, 0]]
    keys = source_keys(torch.tensor(ids))
    assert keys.tolist() == [slow_key(row) for row in ids]

    words = hypothesis_words(keys, torch.arange(3), torch.tensor(11), torch.tensor(seed))
    expected = [[slow_word(slow_key(row), beam, 11, seed) for beam in range(3)] for row in ids]
    assert words.tolist() == expected

    tokens = token_words(words, 20)
    for row, beam, token in np.ndindex(3, 3, 20):
        assert tokens[row, beam, token] == slow_token_word(expected[row][beam], token)


@pytest.mark.parametrize("seed", SEEDS)
def test_words_are_even_and_neighbours_independent(seed: int) -> None:
    def words(keys: Tensor, position: int, seed: int) -> Tensor:
        return token_words(
            hypothesis_words(keys, torch.arange(16), torch.tensor(position), torch.tensor(seed)),
            999,
        )

    keys = keys_of(16)
    here = words(keys, 3, seed)
    pairs = {
        "tokens": (here[..., 1:], here[..., :-1]),
        "samples": (here[:, 1:], here[:, :-1]),
        "rows": (here[1:], here[:-1]),
        "next keys": (here, words(keys ^ 1, 3, seed)),
        "positions": (here, words(keys, 4, seed)),
        "seeds": (here, words(keys, 3, seed + 1)),
        "far seeds": (here, words(keys, 3, seed + 2**32)),
    }

    assert here.min() >= 0
    assert here.max() < 2**32
    for low in (9, 16, 24):
        assert abs(excess(torch.bincount((here >> low).flatten() & 255), flat(256))) < 4
        for name, (one, other) in pairs.items():
            both = (one >> low & 15) * 16 + (other >> low & 15)
            assert abs(excess(torch.bincount(both.flatten(), minlength=256), flat(256))) < 4, name


def test_noise_is_finite_at_both_ends_and_of_its_distribution() -> None:
    ends = gumbel(torch.tensor([0, 2**32 - 2**9]))
    assert ends.tolist() == pytest.approx([-math.log(24 * math.log(2)), 24 * math.log(2)], rel=1e-6)

    words = hypothesis_words(keys_of(10), torch.arange(10), torch.tensor(0), None)
    noise = gumbel(token_words(words, 2000)).double()
    even = torch.exp(-torch.exp(-noise))
    assert abs(excess(torch.bincount((even * 100).long().flatten()), flat(100))) < 4
    assert float(noise.mean()) == pytest.approx(0.5772, abs=0.01)


def test_a_key_depends_on_the_rows_own_ids_and_their_order() -> None:
    keys = source_keys(torch.tensor([[5, 6, 7, 0, 0], [7, 6, 5, 0, 0], [5, 6, 0, 0, 0], [5] * 5]))

    assert keys[0] == source_keys(torch.tensor([[5, 6, 7]]))[0]
    assert keys[0] == source_keys(torch.tensor([[4] * 9, [5, 6, 7] + [0] * 6]))[1]
    assert len(set(keys.tolist())) == 4
    assert ((keys >= 0) & (keys < 2**32)).all()


def test_keys_of_many_sources_differ() -> None:
    words = torch.cartesian_prod(*[torch.arange(3, 20)] * 3)

    assert len(set(source_keys(words).tolist())) == len(words)
