from __future__ import annotations

import pytest
import torch

from builder.nn.bias import ALiBi, RelativeBias, buckets_of_distances
from tests.nn.reference import bucket, slopes


@pytest.mark.parametrize("heads", [1, 2, 3, 6, 8, 12, 16])
def test_alibi_falls_with_the_distance_at_the_slopes_of_the_paper(heads: int) -> None:
    query, key = torch.tensor([4, 0]), torch.tensor([0, 3, 4, 9])

    bias = ALiBi(heads)(query, key)

    for head, slope in enumerate(slopes(heads)):
        expected = [[-slope * abs(i - j) for j in key.tolist()] for i in query.tolist()]
        torch.testing.assert_close(bias[head], torch.tensor(expected), rtol=1e-12, atol=0)


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("buckets", "longest"), [(32, 128), (8, 5), (6, 20), (4, 100), (7, 50)])
def test_relative_bias_has_a_row_for_each_bucket(
    bidirectional: bool, buckets: int, longest: int
) -> None:
    bias = RelativeBias(3, buckets=buckets, max_distance=longest, bidirectional=bidirectional)
    places = torch.arange(2 * longest + 3)

    found = bias(places, places)

    assert found.shape == (3, len(places), len(places))
    for i, j in [(0, place) for place in places.tolist()] + [(len(places) - 1, 0), (9, 2), (5, 5)]:
        for query, key in ((i, j), (j, i)):
            row = bucket(key - query, buckets, longest, bidirectional=bidirectional)
            assert torch.equal(found[:, query, key], bias.table.weight[row])


def test_buckets_of_whole_powers_begin_exactly_there() -> None:
    """Of 16 buckets 8 hold one distance; the others begin at 8 · 16^(n / 8): 8, 16, 32, 64."""
    buckets = buckets_of_distances(16, 128)

    assert [buckets[distance] for distance in (8, 15, 16, 31, 32, 63, 64, 127, 128)] == [
        *[8, 9, 10, 11, 12, 13, 14, 15, 15]
    ]
    assert buckets[:8] == list(range(8))


def test_the_table_of_buckets_is_no_weight() -> None:
    names = set(RelativeBias(2, bidirectional=True).state_dict())

    assert names == {"table.weight"}
