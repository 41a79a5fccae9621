from __future__ import annotations

import pytest
import torch

from builder.nn.relative_keys import RelativeKeys


@pytest.mark.parametrize("longest", [0, 1, 4, 50])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_a_query_meets_the_vector_of_its_clipped_distance(
    longest: int, bidirectional: bool
) -> None:
    keys = RelativeKeys(3, max_distance=longest, bidirectional=bidirectional)
    query, key = torch.tensor([7, 2, 5]), torch.arange(8)
    q = torch.randn(2, 4, 3, 3)

    products = keys(query, key).products(q)

    assert keys.table.shape == ((2 if bidirectional else 1) * longest + 1, 3)
    for i, j in [(0, 0), (0, 7), (1, 2), (1, 1), (2, 3), (2, 4)]:
        distance = max(int(key[j] - query[i]), -longest)
        row = keys.table[min(distance, longest if bidirectional else 0) + longest]
        torch.testing.assert_close(products[:, :, i, j], q[:, :, i] @ row, rtol=1e-10, atol=1e-12)


def test_rows_of_one_query_hold_for_every_head_of_a_group() -> None:
    keys = RelativeKeys(3, max_distance=2, bidirectional=False)
    q = torch.randn(2, 4, 5, 3)  # [batch, kv_heads, group, d_k]
    offsets = keys(torch.tensor([6]), torch.arange(7))

    products = offsets.products(q)

    for member in range(5):
        alone = offsets.products(q[:, :, member, None])
        torch.testing.assert_close(products[:, :, member, None], alone, rtol=1e-10, atol=1e-12)
