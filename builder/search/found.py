"""What a search returns, and the ids that it knows."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

PAD_ID, BOS_ID, EOS_ID = 0, 1, 2


class Found(NamedTuple):
    """The outputs of every strategy, best first; samples in the order of their numbers."""

    target_ids: Int[Tensor, "batch n_best target"]
    """No BOS; EOS where it was reached; pad after."""
    scores: Float[Tensor, "batch n_best"]
    lengths: Int[Tensor, "batch n_best"]
    """Tokens, EOS counted; 0 where there is no such output."""
    ended: Bool[Tensor, "batch n_best"]
    """False where the limit cut the output off."""

    def best(self, n_best: int) -> Found:
        """Keep the first so many of each row."""
        return Found(*(part[:, :n_best] for part in self))


def collect(found: Found, rows: Int[Tensor, " some"], some: Found) -> Found:
    """Write what was found for `rows` into `found`, whose outputs are not longer."""
    parts = found._replace(target_ids=_widened(found.target_ids, some.target_ids))
    return Found(
        *(whole.index_copy(0, rows, part) for whole, part in zip(parts, some, strict=True))
    )


def _widened(
    ids: Int[Tensor, "batch n_best shorter"], longer: Int[Tensor, "some n_best longer"]
) -> Int[Tensor, "batch n_best longer"]:
    time = longer.shape[2]
    return torch.cat([ids, ids.new_zeros(*ids.shape[:2], time)], dim=2)[:, :, :time]
