"""Whether engines with the same weights wrote the same, near ties apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from builder.nn.transformer import BOS_ID, Transformer
from engines.cells import Cell
from engines.contest import OURS, Outcome

NEAR_TIE = 1e-4
"""Tokens whose log-probabilities lie closer than this, in float64, may change places."""


class Agreement(NamedTuple):
    """Outputs of one engine beside ours."""

    equal: int
    near_ties: int
    count: int

    @property
    def different(self) -> int:
        """Those that no near tie explains."""
        return self.count - self.equal - self.near_ties


def compare(
    outcome: Outcome, exactly: Callable[[], Transformer], sources: list[list[int]]
) -> dict[str, Agreement]:
    """Compare every engine's outputs with ours; `exactly` gives the network in float64.

    Near ties are looked for in float32 alone: reduced precision differs by more.
    """
    ours, exact = outcome.targets[OURS], None
    found = {}
    for name, theirs in outcome.targets.items():
        if name == OURS:
            continue
        pairs = [(s, a, b) for s, a, b in zip(sources, ours, theirs, strict=True) if a != b]
        near = 0
        if outcome.cell.precision == "float32" and pairs:
            exact = exact or exactly()
            near = sum(_is_near(outcome.cell, exact, source, pair) for source, *pair in pairs)
        found[name] = Agreement(len(ours) - len(pairs), near, len(ours))
    return found


def varied(targets: list[list[int]]) -> bool:
    """Whether that engines agree shows anything: outputs differ, and most change inside."""
    lively = sum(len(set(ids)) > 1 for ids in targets)
    return 2 * lively >= len(targets) and len(set(map(tuple, targets))) > len(targets) // 2


def _is_near(cell: Cell, exact: Transformer, source: list[int], pair: list[list[int]]) -> bool:
    """Tell a near tie: where the outputs part, or with beams, of the whole outputs."""
    left, right = pair
    if cell.search == "greedy":
        place = next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), None)
        if place is None:
            return False
        gaps = _log_probs(exact, source, left[: place + 1])[place, [left[place], right[place]]]
        return abs(float(gaps[0] - gaps[1])) < NEAR_TIE
    scores = [
        float(_log_probs(exact, source, target)[range(len(target)), target].sum())
        for target in pair
    ]
    return abs(scores[0] - scores[1]) < NEAR_TIE * len(left)


@torch.no_grad()
def _log_probs(exact: Transformer, source: list[int], target: list[int]) -> Tensor:
    """The log-probabilities of every token at each place of a target."""
    logits = exact(torch.tensor([source]), torch.tensor([[BOS_ID, *target[:-1]]]))[0]
    return logits.log_softmax(dim=1)
