"""Pair indices into tensors."""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from builder.data.batches import Indices, collate
from builder.data.store import PairStore
from builder.nn.transformer import PAD_ID


def tensors(
    store: PairStore, indices: Indices
) -> tuple[Int[Tensor, "batch source"], Int[Tensor, "batch target"]]:
    """Give the ids of `indices`, padded on the right; targets end with EOS and hold no BOS."""
    source_ids, target_ids = collate(store, indices, PAD_ID)
    return torch.from_numpy(source_ids), torch.from_numpy(target_ids)
