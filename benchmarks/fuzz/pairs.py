"""Which choices meet in a blueprint, and few blueprints in which most pairs of them do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, product

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.model import Attention, Decoder, Encoder, Model

from .drawn import draw_blueprint

FEW_LAYERS = 2
"""The most layers of a stack that is exported, which takes seconds for each."""
CANDIDATES = 10
"""Blueprints from among which each is chosen."""

Choice = tuple[str, object]
"""An axis and the value on it."""
Pair = frozenset[Choice]


@dataclass(frozen=True)
class Covering:
    """Seeds whose blueprints cover pairs of choices, and how many."""

    seeds: tuple[int, ...]
    covered: int
    possible: int
    """Pairs that occur in any of the candidates."""


def pairwise(count: int) -> Covering:
    """Choose seeds, each for the most pairs that those before it lack."""
    left = {
        seed: pairs_of(draw_blueprint(seed, deepest=FEW_LAYERS).blueprint)
        for seed in range(CANDIDATES * count)
    }
    possible = len(set().union(*left.values()))
    seeds: list[int] = []
    covered: set[Pair] = set()
    for _ in range(count):
        best = max(left, key=lambda seed: len(left[seed] - covered))
        covered |= left.pop(best)
        seeds.append(best)
    return Covering(tuple(seeds), len(covered), possible)


def pairs_of(blueprint: Blueprint) -> set[Pair]:
    """The pairs of choices of different axes that meet: in a stack, in the model, or between both.

    What both stacks have, such as a norm, is paired with what the same stack has.
    """
    model = blueprint.model
    whole = list(_of_model(model))
    stacks = [list(_of_stack(side)) for side in (model.encoder, model.decoder)]
    pairs = {pair for own in stacks for pair in _pairs(combinations([*whole, *own], 2))}
    alone = [[each for each in own if each[0].endswith(("positions", "mask"))] for own in stacks]
    return pairs | set(_pairs(product(*alone)))


def _pairs(twos: Iterable[tuple[Choice, ...]]) -> Iterator[Pair]:
    for first, second in twos:
        if first[0] != second[0]:
            yield frozenset((first, second))


def _of_model(model: Model) -> Iterator[Choice]:
    output = model.embeddings.output
    yield "tie", model.embeddings.tie
    yield "output", (output.scale != 1, output.bias)
    yield "embedding norm", model.embeddings.norm
    yield "init", model.init.kind


def _of_stack(stack: Encoder | Decoder) -> Iterator[Choice]:
    side = "encoder" if isinstance(stack, Encoder) else "decoder"
    for positions in stack.positions:
        yield f"{side} positions", positions.kind
    for mask in stack.mask:
        yield f"{side} mask", mask.kind
    lists = (stack.attention.heads, stack.feed_forward.d_ff, stack.positions, stack.mask)
    yield "norm", (stack.norm.kind, stack.norm.placement)
    yield "activation", stack.feed_forward.activation
    yield "kv_heads", _grouping(stack.attention)
    yield "qk_norm", stack.attention.qk_norm
    yield "softcap", stack.attention.softcap is not None
    yield "share_layers", stack.share_layers
    yield "by layer", any(len(listed) > 1 for listed in lists)


def _grouping(attention: Attention) -> str:
    """How many query heads share their keys: `each` its own, `all` one, or `groups`."""
    heads = max(attention.heads)
    kv_heads = attention.kv_heads or heads
    if kv_heads == heads:
        return "each"
    return "all" if kv_heads == 1 else "groups"
