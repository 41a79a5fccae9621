"""What is written so far into the tokens that may not come next, whatever the model says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from builder.search.found import EOS_ID
from builder.search.options import Options


@dataclass(frozen=True)
class Rules:
    """What a file forbids in every run."""

    no_repeat_ngram_size: int = 0
    """No run of so many tokens is written twice; 0 allows it."""
    suppress: tuple[int, ...] = ()
    """Tokens never written, unless a prefix asks for them."""


def barred(
    rules: Rules, options: Options, tokens: Int[Tensor, "batch beam time"], vocab: int
) -> Bool[Tensor, "batch beam vocab"] | None:
    """Return True where the next token may not be written, or None where nothing can be barred.

    `tokens` are those written so far, without BOS. A prefix beats every rule; where it asks for
    what no model writes, it asks for EOS. EOS is free where nothing else is: pad and BOS do not
    count, as their logits are −inf in every model.
    """
    batch, beams, time = tokens.shape
    words = torch.arange(vocab, device=tokens.device)
    is_end = words == EOS_ID
    bars: list[Tensor] = []
    if rules.suppress:
        bars.append((words == torch.tensor(rules.suppress, device=words.device)[:, None]).any(0))
    if rules.no_repeat_ngram_size:
        bars.append(_repeats(tokens, rules.no_repeat_ngram_size, vocab))
    if options.min_length is not None:
        bars.append(is_end & (options.min_length > time + 1))
    if options.target_prefix is not None:
        forced = _forced(options.target_prefix, tokens)[:, None, None]
        ruled = reduce(or_, bars) & (forced < 0) if bars else words < 0
        bars = [ruled | ((forced >= 0) & (words != forced))]
    if not bars:
        return None

    bar = reduce(or_, bars)
    # Of small integers, as the maximum of booleans goes by way of int64 in the exported graph.
    left = (~bar & (words >= EOS_ID)).to(torch.uint8).amax(dim=-1, keepdim=True)
    return (bar & ~(is_end & (left == 0))).expand(batch, beams, vocab)


def _repeats(
    tokens: Int[Tensor, "batch beam time"], size: int, vocab: int
) -> Bool[Tensor, "batch beam vocab"]:
    """Return True where a token would end a run of `size` that is written already; never for EOS.

    The history begins with `size` − 1 columns of −1: every token written ends one of its runs, and
    none that begins before the first token equals one that does not.
    """
    batch, beams, _ = tokens.shape
    before = size - 1
    history = torch.cat([tokens.new_full((batch, beams, before), -1), tokens], dim=2)
    again = tokens != EOS_ID
    for place in range(before):
        same = history[..., place : place - before] == history[..., place - before, None]
        again = again & same
    ends = torch.where(again, tokens, vocab)
    bars = torch.zeros(batch, beams, vocab + 1, dtype=torch.bool, device=tokens.device)
    return bars.scatter(2, ends, value=True)[..., :vocab]


def _forced(
    prefix: Int[Tensor, "batch prefix"], tokens: Int[Tensor, "batch beam time"]
) -> Int[Tensor, " batch"]:
    """Return each row's forced token, below 0 where it is free, also past the last column."""
    here = torch.arange(prefix.shape[1], device=prefix.device) == tokens.shape[2]
    return torch.where(here, prefix + 1, 0).sum(dim=1) - 1
