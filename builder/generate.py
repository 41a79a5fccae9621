"""A trained network and lines into lines, in PyTorch; the exported file does the same without."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from builder.blueprint.generation import Strategy
from builder.nn.transformer import PAD_ID, Transformer
from builder.search import greedy
from builder.search.greedy import Found, State
from builder.search.limits import NO_LIMIT, LengthRule
from builder.text.batches import by_length
from builder.text.encode import encode_lines
from builder.text.output import Output
from builder.text.tokenizer import TextTokenizer

BATCH_TOKENS = 4096
"""Source tokens, with padding, that are read at once."""


def generate_lines(
    model: Transformer,
    tokenizers: tuple[TextTokenizer, TextTokenizer],
    lines: Sequence[str],
    *,
    strategy: Strategy,
    max_length: int = NO_LIMIT,
    first_line: int = 1,
    noun: str = "line",
) -> list[Output]:
    """Generate one output for each line, in order; an empty line gives an empty output.

    `model` is in evaluation mode; `tokenizers` are those of source and target. Messages name a
    line by `noun` and its number, which is `first_line` for the first.

    Raises:
        DataError: A line is longer than the source's positions, or no Unicode text.
    """
    source, target = tokenizers
    limit = model.source_embedding.max_length
    encoded = encode_lines(source, lines, limit=limit, first_line=first_line, noun=noun)
    results = [Output("", 0.0, 0, ended=True)] * len(lines)
    full = [row for row, ids in enumerate(encoded) if ids]
    for group in by_length([len(encoded[row]) for row in full], batch_tokens=BATCH_TOKENS):
        rows = [full[place] for place in group]
        found = generate_ids(
            model, pad([encoded[row] for row in rows]), strategy=strategy, max_length=max_length
        )
        for row, output in zip(rows, _outputs(found, target), strict=True):
            results[row] = output
    return results


def _outputs(found: Found, tokenizer: TextTokenizer) -> list[Output]:
    """The best output of each row; every tensor leaves its device once."""
    target_ids, scores, lengths, ended = (part[:, 0].tolist() for part in found)
    texts = tokenizer.decode(ids[:length] for ids, length in zip(target_ids, lengths, strict=True))
    return [Output(*row) for row in zip(texts, scores, lengths, ended, strict=True)]


@torch.no_grad()
def generate_ids(
    model: Transformer,
    source_ids: Int[Tensor, "batch source"],
    *,
    strategy: Strategy,
    max_length: int = NO_LIMIT,
) -> Found:
    """Search the best targets of padded sources, each within its own limit."""
    source_ids = source_ids.to(model.output.device)
    rule = length_rule(strategy, model)
    limits = rule.limits(
        (source_ids != PAD_ID).sum(dim=1), torch.tensor(max_length, device=source_ids.device)
    )
    return greedy.search(stepper(model, source_ids), limits)


def stepper(
    model: Transformer, source_ids: Int[Tensor, "batch source"]
) -> Callable[[State], Tensor]:
    """Return the function that scores the next tokens of a state, with the caches in it."""
    memory = model.remember(source_ids)
    caches = model.empty_caches(source_ids)

    def step(state: State) -> Tensor:
        nonlocal caches
        logits, caches = model.step(state.last, state.position, memory=memory, caches=caches)
        return logits

    return step


def length_rule(strategy: Strategy, model: Transformer) -> LengthRule:
    """Return the limits that the blueprint and the target's positions set."""
    limit = strategy.max_length
    return LengthRule.of(limit.ratio, limit.plus, model.target_embedding.max_length)


def pad(sequences: Sequence[Sequence[int]]) -> Int[Tensor, "batch time"]:
    """Put sequences into one tensor, padded on the right."""
    longest = max(map(len, sequences))
    return torch.tensor([[*ids, *[PAD_ID] * (longest - len(ids))] for ids in sequences])
