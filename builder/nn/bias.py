"""Positions by bias: numbers, chosen by distance, that are added to the scores of attention."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class ALiBi(nn.Module):
    """Lower each score in proportion to the distance, in each head at its own rate.

    Bias −slope · |query − key| (Press et al., 2022, section 3), on both sides where both are seen.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def forward(
        self, query: Int[Tensor, " query"], key: Int[Tensor, " key"]
    ) -> Float[Tensor, "heads query key"]:
        """Compare the positions of queries with those of keys."""
        distance = (key[None, :] - query[:, None]).abs()
        return -self._slopes(query.device)[:, None, None] * distance

    def _slopes(self, device: torch.device) -> Float[Tensor, " heads"]:
        """Return the slopes, which fall from 2^(-8/n) to 2^-8 where n, the heads, is a power of 2.

        Otherwise they are those of the next lower power, and of the next higher every second one.
        """
        lower = 2 ** (self.heads.bit_length() - 1)
        first = (torch.arange(lower, device=device) + 1) * (8.0 / lower)
        between = (2 * torch.arange(self.heads - lower, device=device) + 1) * (4.0 / lower)
        return 2.0 ** -torch.cat([first, between])


class RelativeBias(nn.Module):
    """Add a trained number for each head and each bucket of distances (Raffel et al., 2020).

    One module serves all layers of a stack. Half of the buckets of a side hold one distance each;
    the others grow like logarithms up to `max_distance`, and the last holds all beyond. Encoders
    have `buckets / 2` for each side, decoders all of them for the past.
    """

    bucket_of: Tensor

    def __init__(
        self, heads: int, *, buckets: int = 32, max_distance: int = 128, bidirectional: bool
    ) -> None:
        super().__init__()
        self.max_distance = max_distance
        self.table = nn.Embedding(buckets, heads)
        side = buckets // 2 if bidirectional else buckets
        past = buckets_of_distances(side, max_distance)
        future = [side + bucket for bucket in past[1:]] if bidirectional else [0] * max_distance
        self.register_buffer(
            "bucket_of", torch.tensor([*past[::-1], *future]), persistent=False
        )  # [2 · max_distance + 1], of key − query + max_distance

    def forward(
        self, query: Int[Tensor, " query"], key: Int[Tensor, " key"]
    ) -> Float[Tensor, "heads query key"]:
        """Compare the positions of queries with those of keys."""
        distance = (key[None, :] - query[:, None]).clamp(-self.max_distance, self.max_distance)
        by_distance = self.table(self.bucket_of)  # [2 · max_distance + 1, heads]
        return by_distance[distance + self.max_distance].permute(2, 0, 1)


def buckets_of_distances(buckets: int, max_distance: int) -> list[int]:
    """Return the bucket of each distance from 0 to `max_distance`, in one direction.

    With e = buckets / 2, distance d ≥ e is in bucket e + n · log(d / e) / log(max_distance / e),
    rounded down, where n are the buckets that are left. Compared as whole numbers, since the
    logarithms of two engines may differ at the edge of a bucket.
    """
    exact = buckets // 2
    left = buckets - exact
    found = list(range(min(exact, max_distance + 1)))
    bucket = 0
    for distance in range(exact, max_distance + 1):
        while bucket < left - 1 and (
            distance**left * exact ** (bucket + 1) >= max_distance ** (bucket + 1) * exact**left
        ):
            bucket += 1
        found.append(exact + bucket)
    return found
