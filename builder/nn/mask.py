"""Who may attend to whom, as boolean tensors: True = may attend."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor


@dataclass(frozen=True)
class Band:
    """A band around the diagonal: full, causal and window masks are the same rule.

    Every position sees itself, `before` neighbours on its left and `after` on its right;
    None sees to the end on that side.
    """

    before: int | None = None
    after: int | None = None

    def allowed(
        self, query: Int[Tensor, " query"], key: Int[Tensor, " key"]
    ) -> Bool[Tensor, "query key"]:
        """Compare the positions of queries with those of keys."""
        distance = key[None, :] - query[:, None]
        allowed = torch.ones_like(distance, dtype=torch.bool)
        if self.before is not None:
            allowed = allowed & (distance >= -self.before)
        if self.after is not None:
            allowed = allowed & (distance <= self.after)
        return allowed

    def causal(self) -> Band:
        """Take away the right side, as in every decoder."""
        return Band(self.before, 0)


def encoder_mask(
    band: Band, real: Bool[Tensor, "batch source"]
) -> Bool[Tensor, "batch source source"]:
    """Allow what `band` allows among real tokens, and always the diagonal.

    The diagonal keeps the rows of padding from being empty: softmax over nothing is a NaN in one
    engine, zeros in another and an average in a third.
    """
    positions = torch.arange(real.shape[1], device=real.device)
    diagonal = positions[:, None] == positions[None, :]
    return (band.allowed(positions, positions)[None] & real[:, None, :]) | diagonal[None]
