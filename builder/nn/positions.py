"""How a sequence knows its order: vectors added to embeddings, or rotations of queries and keys."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class SinusoidalPositions(nn.Module):
    """Fixed sines (even columns) and cosines (odd columns) (Vaswani et al., 2017, section 3.5)."""

    def __init__(self, d_model: int, *, base: float = 10_000.0) -> None:
        super().__init__()
        self.d_model = d_model
        self.base = base

    def forward(self, positions: Int[Tensor, " time"]) -> Float[Tensor, "time d_model"]:
        """Compute the vectors of `positions`, counted from 0; there is no longest one."""
        angles = angles_of(positions, self.d_model, self.base)
        waves = torch.stack([angles.sin(), angles.cos()], dim=-1)  # [time, ceil(d_model / 2), 2]
        return waves.flatten(-2)[:, : self.d_model]


class LearnedPositions(nn.Module):
    """One trained vector for each of `max_length` positions (Gehring et al., 2017)."""

    def __init__(self, d_model: int, max_length: int) -> None:
        super().__init__()
        self.max_length = max_length
        self.table = nn.Embedding(max_length, d_model)

    def forward(self, positions: Int[Tensor, " time"]) -> Float[Tensor, "time d_model"]:
        """Look up the vectors of `positions`, counted from 0 and below `max_length`."""
        return self.table(positions)


class RotaryPositions(nn.Module):
    """Turn each pair of values by an angle that grows with the position (Su et al., 2021).

    Column i pairs with column i + d_k / 2, so that a query and a key meet under an angle that
    depends on their distance alone.
    """

    def __init__(self, d_k: int, *, base: float = 10_000.0) -> None:
        super().__init__()
        self.d_k = d_k
        self.base = base

    def forward(
        self, x: Float[Tensor, "batch heads time d_k"], positions: Int[Tensor, " time"]
    ) -> Float[Tensor, "batch heads time d_k"]:
        """Rotate the queries or keys `x` that stand at `positions`."""
        angles = angles_of(positions, self.d_k, self.base)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)  # [time, d_k / 2]
        left, right = x.chunk(2, dim=-1)
        return torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1)


def angles_of(
    positions: Int[Tensor, " time"], width: int, base: float
) -> Float[Tensor, "time half"]:
    """Return position · base^(-2i / width) for i = 0, 1, …, ceil(width / 2) - 1.

    In the default type, whatever the weights' type is: bfloat16 cannot tell 256 from 257.
    """
    precise = torch.float32 if positions.device.type == "mps" else torch.float64
    exponents = torch.arange(0, width, 2, dtype=precise, device=positions.device) / width
    frequencies = (base**-exponents).to(torch.get_default_dtype())
    return positions[:, None].to(frequencies.dtype) * frequencies
