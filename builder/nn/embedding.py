"""Token embeddings with their positions: what enters a stack."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from builder.nn.positions import LearnedPositions, SinusoidalPositions


class Embedding(nn.Module):
    """Look tokens up, scale them, add their positions (Vaswani et al., 2017, sections 3.4, 3.5).

    A `norm`, if there is one, is taken of the sum (Lewis et al., 2020).
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        *,
        scale: bool = True,
        positions: SinusoidalPositions | LearnedPositions | None = None,
        norm: nn.Module | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.scale = d_model**0.5 if scale else 1.0
        self.positions = positions
        self.norm = norm or nn.Identity()
        self.dropout = nn.Dropout(dropout)

    @property
    def max_length(self) -> int | None:
        """The longest sequence that has positions, in tokens; None without a limit."""
        return self.positions.max_length if isinstance(self.positions, LearnedPositions) else None

    def forward(self, ids: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time d_model"]:
        """Embed whole sequences, the first token at position 0."""
        return self._embed(ids, torch.arange(ids.shape[1], device=ids.device))

    def step(
        self, ids: Int[Tensor, " batch"], position: Int[Tensor, ""]
    ) -> Float[Tensor, "batch d_model"]:
        """Embed one token of each sequence, all at the same `position`."""
        return self._embed(ids, position[None])

    def _embed(
        self, ids: Int[Tensor, "*shape"], positions: Int[Tensor, " time"]
    ) -> Float[Tensor, "*shape d_model"]:
        x = self.tokens(ids) * self.scale
        if self.positions is not None:
            x = x + self.positions(positions).to(x.dtype)
        return self.dropout(self.norm(x))
