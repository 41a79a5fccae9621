from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from builder.data.batches import collate, plan_batches, split_microbatches
from builder.data.store import PairStore, TokenStore

lengths = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=80)


def both(pairs: list[tuple[int, int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    source, target = np.array(pairs).T
    return source, target


@given(lengths, st.integers(1, 200), st.integers(0, 3))
def test_every_pair_comes_once_and_batches_keep_their_size(
    pairs: list[tuple[int, int]], batch_tokens: int, epoch: int
) -> None:
    source, target = both(pairs)

    plan = plan_batches(source, target, batch_tokens=batch_tokens, seed=1, epoch=epoch)

    assert sorted(np.concatenate(plan).tolist()) == list(range(len(pairs)))
    assert all(len(batch) == 1 or target[batch].sum() <= batch_tokens for batch in plan)


def test_batches_are_full() -> None:
    target = np.full(100, 10)

    plan = plan_batches(target, target, batch_tokens=70, seed=0, epoch=0)

    assert sorted(map(len, plan)) == [2] + [7] * 14


def test_three_pairs_make_one_batch() -> None:
    few = np.array([1, 2, 1])

    (batch,) = plan_batches(few, few, batch_tokens=8, seed=1, epoch=0)

    assert sorted(batch.tolist()) == [0, 1, 2]


def test_a_pair_over_the_size_stands_alone() -> None:
    target = np.array([5, 50_000, 5])

    plan = plan_batches(target, target, batch_tokens=100, seed=1, epoch=0)

    assert sorted(sorted(batch.tolist()) for batch in plan) == [[0, 2], [1]]


def test_no_pairs_make_no_batches() -> None:
    none = np.array([], np.int64)

    assert plan_batches(none, none, batch_tokens=8, seed=1, epoch=0) == []


def realistic() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    draw = np.random.default_rng(7)
    source = np.clip(draw.lognormal(3, 0.5, 20_000), 2, 256).astype(np.int64)
    target = np.clip(source * draw.normal(1.1, 0.2, len(source)), 2, 256).astype(np.int64)
    return source, target


def as_lists(plan: list[NDArray[np.int64]]) -> list[list[int]]:
    return [batch.tolist() for batch in plan]


def test_the_plan_is_a_function_of_seed_and_epoch() -> None:
    source, target = realistic()

    def plan(seed: int, epoch: int) -> list[list[int]]:
        return as_lists(plan_batches(source, target, batch_tokens=4096, seed=seed, epoch=epoch))

    first = plan(1, 0)

    assert plan(1, 0) == first
    for other in (plan(1, 1), plan(2, 0), plan(0, 1)):
        assert other != first
        assert sorted(map(sorted, other)) != sorted(map(sorted, first))


def test_little_is_padding() -> None:
    source, target = realistic()

    plan = plan_batches(source, target, batch_tokens=2048, seed=1, epoch=0)

    padded = sum(len(batch) * (source[batch].max() + target[batch].max()) for batch in plan)
    assert 1 - (source.sum() + target.sum()) / padded < 0.1


def test_batches_come_in_no_order_of_length() -> None:
    source, target = realistic()
    plan = plan_batches(source, target, batch_tokens=2048, seed=1, epoch=0)

    means = np.array([target[batch].mean() for batch in plan])

    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.3


@given(lengths, st.integers(1, 300))
def test_microbatches_part_a_batch_in_order(
    pairs: list[tuple[int, int]], microbatch_tokens: int
) -> None:
    source, target = both(pairs)
    indices = np.arange(len(pairs))[::-1]

    parts = split_microbatches(indices, target, source, microbatch_tokens)

    assert np.concatenate(parts).tolist() == indices.tolist()
    for part in parts:
        longest = max(source[part].max(), target[part].max())
        assert len(part) == 1 or len(part) * longest <= microbatch_tokens


def test_microbatches_are_no_smaller_than_needed() -> None:
    sizes = np.full(10, 5)

    parts = split_microbatches(np.arange(10), sizes, sizes, 20)

    assert [len(part) for part in parts] == [4, 4, 2]
    assert split_microbatches(np.array([], np.int64), sizes, sizes, 20) == []


def test_collating_pads_on_the_right() -> None:
    def stored(*sequences: list[int]) -> TokenStore:
        offsets = np.cumsum([0, *map(len, sequences)])
        return TokenStore(np.concatenate([np.array(s, np.uint16) for s in sequences]), offsets)

    store = PairStore(stored([5, 6, 2], [7, 2], [2]), stored([9, 2], [8, 8, 8, 2], [9, 9, 2]))

    source_ids, target_ids = collate(store, np.array([1, 0]), 0)

    assert source_ids.tolist() == [[7, 2, 0], [5, 6, 2]]
    assert target_ids.tolist() == [[8, 8, 8, 2], [9, 2, 0, 0]]
    assert source_ids.dtype == target_ids.dtype == np.int64
