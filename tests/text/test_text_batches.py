from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from builder.text.batches import by_length


@given(st.lists(st.integers(1, 50)), st.integers(1, 200))
def test_each_index_once_and_no_group_too_large(lengths: list[int], batch_tokens: int) -> None:
    groups = list(by_length(lengths, batch_tokens=batch_tokens))

    assert sorted(index for group in groups for index in group) == list(range(len(lengths)))
    for group in groups:
        padded = len(group) * max(lengths[index] for index in group)
        assert len(group) == 1 or padded <= batch_tokens


def test_puts_like_lengths_together() -> None:
    assert list(by_length([1, 9, 2, 8, 1], batch_tokens=18)) == [[1, 3], [2, 0, 4]]
