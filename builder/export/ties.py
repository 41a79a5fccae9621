"""Outputs that differ into whether chance of rounding explains it: a replay in float64."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from builder.export.compare import Row
from builder.export.lines import Batch
from builder.generate import Generator, as_tensors
from builder.search.constraints import barred
from builder.search.found import BOS_ID, PAD_ID
from builder.search.options import Options
from builder.search.sampling import perturbed, source_keys

NEAR_TIE = 1e-4
"""Candidates whose values lie closer than this, in float64, may change places."""

Run = Callable[[Batch], list[Row]]


@dataclass(frozen=True)
class Referee:
    """Decides, by the same network in float64, between a file and PyTorch."""

    generator: Generator

    @cached_property
    def exact(self) -> Generator:
        """The network in float64, made when it is first needed."""
        model = copy.deepcopy(self.generator.decoding.model).double()
        return self.generator.with_model(model)

    @torch.no_grad()
    def is_near_tie(self, batch: Batch, row: int, file: Run, network: Run) -> bool:
        """Tell whether both part at a step where float64 finds their candidates about as good.

        That step is found by letting both write ever longer outputs, of all beams.
        """
        batch = batch._replace(asked={**batch.asked, **_all_beams(self._options(batch))})
        limit = int(batch.asked["max_length"])
        longest = max(len(one.ids) for rows in (file(batch), network(batch)) for one in rows[row])
        for length in range(1, min(limit, longest) + 1):
            shorter = batch._replace(asked={**batch.asked, "max_length": length})
            left, right = file(shorter)[row], network(shorter)[row]
            if _tokens(left) != _tokens(right):
                return len(left) == len(right) and all(
                    ours.ids == theirs.ids
                    or self._gap(shorter, row, place, ours.ids, theirs.ids) < NEAR_TIE
                    for place, (ours, theirs) in enumerate(zip(left, right, strict=True))
                )
        return False

    def _gap(self, batch: Batch, row: int, place: int, left: list[int], right: list[int]) -> float:
        """How far the candidates of one place are apart."""
        source_ids = batch.source_ids[row]
        source_ids = source_ids[source_ids != PAD_ID][None]
        if self.generator.decoding.search.kind == "sampling":
            prefix = None if batch.prefix is None else batch.prefix[row : row + 1]
            options, _ = as_tensors(self._options(batch), prefix, source_ids.device)
            return self._drawn_gap(source_ids, place, (left, right), options)
        return abs(self._value(source_ids, left, batch) - self._value(source_ids, right, batch))

    def _options(self, batch: Batch) -> dict[str, int | float]:
        return {**self.generator.options, **batch.asked}

    def _value(self, source_ids: Tensor, ids: list[int], batch: Batch) -> float:
        """What an output is ranked by."""
        log_probs = self._log_probs(source_ids, ids)
        total = float(log_probs[torch.arange(len(ids)), torch.tensor(ids)].sum())
        penalty = float(self._options(batch).get("length_penalty", 0.0))
        return total / ((5 + len(ids)) / 6) ** penalty

    def _log_probs(self, source_ids: Tensor, ids: list[int]) -> Tensor:
        """The log-probabilities of every token at each step on the way to `ids`."""
        target_ids = torch.tensor([[BOS_ID, *ids[:-1]]])
        return self.exact.decoding.model(source_ids, target_ids)[0].log_softmax(dim=-1)

    def _drawn_gap(
        self, source_ids: Tensor, place: int, ids: tuple[list[int], list[int]], options: Options
    ) -> float:
        """How far two tokens are apart in what the draw compares, at the best of its edges.

        A token at the edge of `top_k` or `top_p` may be in or out.
        """
        left, right = ids
        if left[:-1] != right[:-1]:
            return float("inf")
        written = torch.tensor([[left[:-1]]], dtype=torch.int64)
        log_probs = self._log_probs(source_ids, left)[-1].expand(1, place + 1, -1)
        closed = barred(self.generator.decoding.search.rules, options, written, log_probs.shape[2])
        allowed = log_probs if closed is None else log_probs.masked_fill(closed, float("-inf"))
        position, keys = torch.tensor(len(left) - 1), source_keys(source_ids)
        gaps = [
            values[0, place, left[-1]] - values[0, place, right[-1]]
            for edge in _edges(options)
            for values in [perturbed(allowed, keys, position, edge)]
        ]
        return min((abs(float(gap)) for gap in gaps if gap.isfinite()), default=float("inf"))


def _all_beams(options: dict[str, int | float]) -> dict[str, int | float]:
    return {"n_best": options["beams"]} if "beams" in options else {}


def _edges(options: Options) -> list[Options]:
    """The options, and those at whose edges rounding may fall on either side."""
    edges = [options]
    if options.top_p is not None:
        edges += [options._replace(top_p=options.top_p + step) for step in (-1e-5, 1e-5)]
    if options.top_k is not None:
        edges.append(options._replace(top_k=options.top_k + 1))
    return edges


def _tokens(row: Row) -> list[list[int]]:
    return [one.ids for one in row]
