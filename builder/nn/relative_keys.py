"""Positions by distance: a trained vector for each, added to the keys."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class KeyOffsets(NamedTuple):
    """What is added to keys, told by which query looks at them."""

    table: Float[Tensor, "rows d_k"]
    rows: Int[Tensor, "query key"]
    """The row of `table` that a key adds for a query."""

    def products(
        self, q: Float[Tensor, "batch *heads query d_k"]
    ) -> Float[Tensor, "batch *heads query key"]:
        """Multiply queries with what is added to each key.

        Each query meets each row once, however many keys add it; rows of one query, where it is
        the only one, hold for the whole axis.
        """
        by_row = q @ self.table.T  # [batch, ..., query, rows]
        return by_row.gather(-1, self.rows.expand(*by_row.shape[:-1], -1))


class RelativeKeys(nn.Module):
    """Add a trained vector to each key, chosen by its distance from the query (Shaw et al., 2018).

    Distances beyond `max_distance` count as that. The heads of a layer share the table; an encoder
    has rows for both sides, a decoder for the past alone.
    """

    def __init__(self, d_k: int, *, max_distance: int, bidirectional: bool) -> None:
        super().__init__()
        self.max_distance = max_distance
        self.longest_ahead = max_distance if bidirectional else 0
        self.table = nn.Parameter(torch.empty(max_distance + self.longest_ahead + 1, d_k))
        nn.init.xavier_uniform_(self.table)

    def forward(self, query: Int[Tensor, " query"], key: Int[Tensor, " key"]) -> KeyOffsets:
        """Compare the positions of queries with those of keys."""
        distance = (key[None, :] - query[:, None]).clamp(-self.max_distance, self.longest_ahead)
        return KeyOffsets(self.table, distance + self.max_distance)
