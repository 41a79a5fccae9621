"""Vectors that tell a stack the order of its tokens, to be added to their embeddings."""

from __future__ import annotations

import math
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

Layout = Literal["interleaved", "split"]
Frequencies = Literal["paper", "fairseq"]


class SinusoidalPositions(nn.Module):
    """Fixed sines and cosines (Vaswani et al., 2017, section 3.5).

    `interleaved` has sines in even columns and cosines in odd ones, as the paper prints them;
    `split` has all sines, then all cosines. Frequency i is base^(-2i / d_model) in the paper;
    `fairseq`, after the paper's own code, lets half as many as there are columns fall from 1 to
    1 / base exactly, and an odd column at the end stay 0. The first token has the index `first`.
    """

    def __init__(
        self,
        d_model: int,
        *,
        base: float = 10_000.0,
        layout: Layout = "interleaved",
        frequencies: Frequencies = "paper",
        first: int = 0,
    ) -> None:
        super().__init__()
        self.d_model = d_model
        self.base = base
        self.layout = layout
        self.frequencies = frequencies
        self.first = first

    def forward(self, positions: Int[Tensor, " time"]) -> Float[Tensor, "time d_model"]:
        """Compute the vectors of `positions`, counted from 0; there is no longest one."""
        angles = angles_of(positions + self.first, self._rates(positions.device))
        waves = [angles.sin(), angles.cos()]  # [time, half]
        joined = (
            torch.stack(waves, dim=-1).flatten(-2)
            if self.layout == "interleaved"
            else torch.cat(waves, dim=-1)
        )
        if joined.shape[1] < self.d_model:
            joined = nn.functional.pad(joined, (0, 1))
        return joined[:, : self.d_model]

    def _rates(self, device: torch.device) -> Float[Tensor, " half"]:
        if self.frequencies == "paper":
            return falling_rates(self.d_model, self.base, device)
        half = self.d_model // 2
        places = torch.arange(half, dtype=precise(device), device=device)
        return torch.exp(-math.log(self.base) / max(half - 1, 1) * places)


class LearnedPositions(nn.Module):
    """One trained vector for each of `max_length` positions (Gehring et al., 2017).

    The first token takes row `first` of the table; those before it belong to no token.
    """

    def __init__(self, d_model: int, max_length: int, *, first: int = 0) -> None:
        super().__init__()
        self.max_length = max_length
        self.first = first
        self.table = nn.Embedding(max_length + first, d_model)

    def forward(self, positions: Int[Tensor, " time"]) -> Float[Tensor, "time d_model"]:
        """Look up the vectors of `positions`, counted from 0 and below `max_length`."""
        return self.table(positions + self.first)


def falling_rates(width: int, base: float, device: torch.device) -> Float[Tensor, " half"]:
    """Return base^(-2i / width) for i = 0, 1, …, ceil(width / 2) - 1."""
    exponents = torch.arange(0, width, 2, dtype=precise(device), device=device) / width
    return base**-exponents


def angles_of(
    positions: Int[Tensor, " time"], rates: Float[Tensor, " half"]
) -> Float[Tensor, "time half"]:
    """Multiply positions by rates.

    In the default type, whatever the weights' type is: bfloat16 cannot tell 256 from 257.
    """
    rates = rates.to(torch.get_default_dtype())
    return positions[:, None].to(rates.dtype) * rates


def precise(device: torch.device) -> torch.dtype:
    """Return the type in which `device` computes rates."""
    return torch.float32 if device.type == "mps" else torch.float64
