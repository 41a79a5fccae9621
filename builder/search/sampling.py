"""Log-probabilities into tokens drawn at random, each from a counter and nothing else."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from builder.search.found import PAD_ID
from builder.search.options import Options

MASK = 0xFFFF_FFFF
"""A word is a whole number of 32 bits, kept in an int64."""
WEYL, FIRST, SECOND = 0x9E37_79B9, 0x21F0_AAAD, 0x735A_2D97
"""The increment and the two multipliers of the mixer (after Wellons, 2018, "Prospecting for hash
functions"). The multipliers are below 2^31, so that none of their products with a word leaves
int64."""
UPPER, HALF = 0xFFFF_FE00, 0x100
"""The bits of a word that a float32 holds exactly, and half of what the lowest of them counts."""
TINY, HUGE = 1e-30, 1e30
"""Past these a temperature has no further effect."""


def source_keys(source_ids: Int[Tensor, "batch source"]) -> Int[Tensor, " batch"]:
    """Return a word that stands for each row's ids and their order, wherever padding ends."""
    places = torch.arange(source_ids.shape[1], device=source_ids.device)
    words = _absorb(_mix(places), source_ids)
    return _mix((words * (source_ids != PAD_ID)).sum(dim=1) & MASK)


def draw(
    log_probs: Float[Tensor, "batch beam vocab"],
    keys: Int[Tensor, " batch"],
    position: Int[Tensor, ""],
    options: Options,
) -> Int[Tensor, "batch beam"]:
    """Draw the next token of each hypothesis by its probability (Gumbel-max).

    `log_probs` are the model's own, −inf where barred; the temperature, then `top_k`, then `top_p`
    change them. The noise depends on the seed (0 where there is none), the row's key, the place on
    the beam axis, the position and the token, and on nothing else.
    """
    return perturbed(log_probs, keys, position, options).argmax(dim=-1)


def perturbed(
    log_probs: Float[Tensor, "batch beam vocab"],
    keys: Int[Tensor, " batch"],
    position: Int[Tensor, ""],
    options: Options,
) -> Float[Tensor, "batch beam vocab"]:
    """Return the values of which `draw` takes the largest; −inf where a token is left out."""
    scores = log_probs
    if options.temperature is not None:
        scores = _tempered(scores, options.temperature)
    if options.top_k is not None or options.top_p is not None:
        scores = _limited(scores, options.top_k, options.top_p)
    samples = torch.arange(log_probs.shape[1], device=log_probs.device)
    words = hypothesis_words(keys, samples, position, options.seed)
    noise = gumbel(token_words(words, log_probs.shape[2]))
    if options.top_k is not None:
        noise = noise * (options.top_k > 1)  # Of equals the first, as without sampling.
    return scores + noise


def _tempered(
    log_probs: Float[Tensor, "batch beam vocab"], temperature: Float[Tensor, ""]
) -> Float[Tensor, "batch beam vocab"]:
    """Divide by the temperature, with the best at 0, so that rounding makes nothing equal to it."""
    best = log_probs.amax(dim=-1, keepdim=True).clamp(min=-HUGE)  # −inf less itself is no number.
    return (log_probs - best) / temperature.clamp(TINY, HUGE)


def _limited(
    scores: Float[Tensor, "batch beam vocab"],
    top_k: Int[Tensor, ""] | None,
    top_p: Float[Tensor, ""] | None,
) -> Float[Tensor, "batch beam vocab"]:
    """Bar all but the `top_k` best, and of these all but the fewest that hold `top_p` of their sum.

    What is as likely as the last one kept stays: engines order equals differently.
    """
    vocab = scores.shape[2]
    ordered = scores.topk(vocab).values
    count = torch.full_like(ordered[..., :1], vocab, dtype=torch.int64)
    if top_k is not None:
        count = count.minimum(top_k).clamp(min=1)
    if top_p is not None:
        probs = ordered.softmax(dim=-1).to(torch.float64)
        sums = probs.cumsum(dim=-1)  # Of float64, as the last of a large vocabulary are small.
        within = sums - probs < sums.gather(2, count - 1) * top_p
        count = within.sum(dim=-1, keepdim=True).clamp(min=1).minimum(count)
    least = ordered.gather(2, count - 1)
    return torch.where(scores >= least, scores, float("-inf"))


def hypothesis_words(
    keys: Int[Tensor, " batch"],
    samples: Int[Tensor, " beam"],
    position: Int[Tensor, ""],
    seed: Int[Tensor, ""] | None,
) -> Int[Tensor, "batch beam"]:
    """Return the word that each hypothesis draws from at this position."""
    seed = torch.zeros_like(position) if seed is None else seed
    word = _absorb(_absorb(_mix(seed & MASK), (seed >> 32) & MASK), position)
    return _absorb(_absorb(word, keys)[:, None], samples)


def token_words(words: Int[Tensor, "batch beam"], vocab: int) -> Int[Tensor, "batch beam vocab"]:
    """Return a word for each token, of which only the upper 23 bits are set.

    This is all that is computed for each token: as both that meet here are mixed already, the last
    two steps of the mixer are enough.
    """
    tokens = _mix(torch.arange(vocab, device=words.device))
    met = ((words[..., None] ^ tokens) * FIRST) & MASK
    return ((met ^ _shifted(met, 15)) * SECOND) & UPPER


def gumbel(words: Int[Tensor, ...]) -> Float[Tensor, ...]:
    """Return draws of the standard Gumbel distribution, between −2.9 and 16.7.

    Of 23 bits: a token less likely than about 1e-7 is drawn less often than it should be.
    """
    uniform = (words.to(torch.float32) + HALF) * 2.0**-32  # Exact, above 0 and below 1.
    return -(-uniform.log()).log()


def _absorb(word: Int[Tensor, ...], value: Int[Tensor, ...]) -> Int[Tensor, ...]:
    return _mix(word ^ value)


def _mix(word: Int[Tensor, ...]) -> Int[Tensor, ...]:
    """Return another word, each bit of which depends on every bit of this one; one to one."""
    word = (word + WEYL) & MASK
    word = ((word ^ _shifted(word, 16)) * FIRST) & MASK
    word = ((word ^ _shifted(word, 15)) * SECOND) & MASK
    return word ^ _shifted(word, 15)


def _shifted(word: Int[Tensor, ...], bits: int) -> Int[Tensor, ...]:
    """Shift a word to the right.

    By way of float64, which is exact: of a signed number the exported graph shifts the sign too,
    in seven operations.
    """
    return (word.to(torch.float64) * 2.0**-bits).to(torch.int64)
