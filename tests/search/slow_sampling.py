"""Draws at random told slowly, in whole numbers and lists of Python, and how to count them."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from builder.options import NO_LIMIT
from builder.search.found import BOS_ID, PAD_ID
from builder.search.options import Options
from builder.search.sampling import draw, source_keys

NEVER = float("-inf")
SEEDS = [0, 1, 2, -1, 2**31, 2**40 + 7]


def asked(**options: float) -> Options:
    """Options of a run, a whole number where the search wants one."""
    return Options(torch.tensor(NO_LIMIT), **{k: torch.tensor(v) for k, v in options.items()})


def random_scores(rows: int, beams: int, vocab: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, beams, vocab, generator=generator) * 2
    logits[..., [PAD_ID, BOS_ID]] = NEVER
    return logits.log_softmax(dim=-1)


def keys_of(rows: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return source_keys(torch.randint(3, 50, (rows, 6), generator=generator))


def many(probs: list[float], draws: int, **options: float) -> Tensor:
    """Count how often each token is drawn, over a batch of rows, samples and positions."""
    log_probs = torch.tensor(probs).log().expand(25, 20, -1)
    keys, options_ = keys_of(25), asked(**options)
    drawn = [draw(log_probs, keys, torch.tensor(at), options_) for at in range(draws // 500)]
    return torch.bincount(torch.stack(drawn).flatten(), minlength=len(probs))


def excess(counts: Tensor, probs: Tensor) -> float:
    """How far chi-square lies from its mean, in standard deviations; probabilities sum to 1."""
    expected = probs[probs > 0].double() * counts.sum()
    assert counts[probs == 0].sum() == 0
    chi_square = ((counts[probs > 0] - expected) ** 2 / expected).sum()
    freedom = len(expected) - 1
    return float((chi_square - freedom) / math.sqrt(2 * freedom))


def flat(count: int) -> Tensor:
    return torch.full((count,), 1 / count)


def mixed(word: int) -> int:
    word = (word + 0x9E3779B9) % 2**32
    word = (word ^ word >> 16) * 0x21F0AAAD % 2**32
    word = (word ^ word >> 15) * 0x735A2D97 % 2**32
    return word ^ word >> 15


def slow_key(ids: list[int]) -> int:
    words = (mixed(mixed(at) ^ token) for at, token in enumerate(ids) if token != PAD_ID)
    return mixed(sum(words) % 2**32)


def slow_word(key: int, sample: int, position: int, seed: int) -> int:
    word = mixed(seed % 2**32)
    for value in (seed // 2**32 % 2**32, position, key, sample):
        word = mixed(word ^ value)
    return word


def slow_token_word(word: int, token: int) -> int:
    met = (word ^ mixed(token)) * 0x21F0AAAD % 2**32
    met = (met ^ met >> 15) * 0x735A2D97 % 2**32
    return met // 2**9 * 2**9


def slow_kept(scores: list[float], top_k: int, top_p: float) -> list[int]:
    """The tokens that stay, with all that are as likely as the last one."""
    order = sorted(range(len(scores)), key=lambda token: -scores[token])[: max(1, top_k)]
    whole = sum(math.exp(scores[token]) for token in order)
    kept, held = [], 0.0
    for token in order:
        if not kept or held < top_p * whole or top_p >= 1:
            kept.append(token)
        held += math.exp(scores[token])
    return [token for token, score in enumerate(scores) if score >= scores[kept[-1]]]


def slow_draw(log_probs: list[float], word: int, options: dict[str, Any]) -> int:
    scores = [value / options.get("temperature", 1.0) for value in log_probs]
    kept = slow_kept(scores, options.get("top_k", NO_LIMIT), options.get("top_p", 1.0))
    noisy = {}
    for token in kept:
        uniform = (slow_token_word(word, token) + 256) / 2**32
        noisy[token] = scores[token] - math.log(-math.log(uniform))
    return max(kept, key=noisy.__getitem__)
