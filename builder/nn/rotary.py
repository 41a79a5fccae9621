"""Positions by rotation: queries and keys are turned, so that they meet under their distance."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from builder.nn.positions import angles_of, falling_rates


class Rotation(NamedTuple):
    """The turns of some positions; the last columns of a head may be left out."""

    cos: Float[Tensor, "time half"]
    sin: Float[Tensor, "time half"]

    def turn(
        self, x: Float[Tensor, "batch *heads time d_k"]
    ) -> Float[Tensor, "batch *heads time d_k"]:
        """Rotate queries or keys; one turn, where it is the only one, holds for the whole axis."""
        cos, sin = self.cos.to(x.dtype), self.sin.to(x.dtype)
        half = cos.shape[1]
        others = x.shape[-1] - 2 * half
        left, right, *rest = x.split([half, half, others] if others else [half, half], dim=-1)
        return torch.cat([left * cos - right * sin, right * cos + left * sin, *rest], dim=-1)


class RotaryPositions(nn.Module):
    """Turn pairs of values by an angle that grows with the position (Su et al., 2021).

    The first `fraction` of the values of a head turn, an even number of columns; of n such columns,
    i pairs with i + n / 2. Positions are divided by `scaling` (Chen et al., 2023).
    """

    def __init__(
        self, d_k: int, *, base: float = 10_000.0, fraction: float = 1.0, scaling: float = 1.0
    ) -> None:
        super().__init__()
        self.width = round(fraction * d_k)
        self.base = base
        self.scaling = scaling

    def forward(self, query: Int[Tensor, " query"], _key: Int[Tensor, " key"]) -> Rotation:
        """Return the turns at `query`, where queries stand and the keys that are new with them."""
        rates = falling_rates(self.width, self.base, query.device) / self.scaling
        angles = angles_of(query, rates)
        return Rotation(angles.cos(), angles.sin())
