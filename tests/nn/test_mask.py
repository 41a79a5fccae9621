from __future__ import annotations

import pytest
import torch

from builder.nn.mask import Band, Block, Causal, Pattern, Prefix, encoder_mask

T, F = True, False


def square(band: Pattern | Causal, length: int) -> torch.Tensor:
    positions = torch.arange(length)
    return band.allowed(positions, positions)


def test_the_visibility_of_windows_is_exactly_this() -> None:
    causal = [
        [T, F, F, F, F, F],
        [T, T, F, F, F, F],
        [T, T, T, F, F, F],
        [F, T, T, T, F, F],
        [F, F, T, T, T, F],
        [F, F, F, T, T, T],
    ]
    two_sided = [
        [T, T, F, F, F, F],
        [T, T, T, F, F, F],
        [T, T, T, T, F, F],
        [F, T, T, T, T, F],
        [F, F, T, T, T, T],
        [F, F, F, T, T, T],
    ]

    assert square(Band(before=2, after=0), 6).tolist() == causal
    assert square(Band(before=2, after=1), 6).tolist() == two_sided


def test_queries_and_keys_keep_their_own_axes_and_positions() -> None:
    allowed = Band(before=1, after=0).allowed(torch.tensor([4]), torch.arange(6))

    assert allowed.tolist() == [[F, F, F, T, T, F]]


@pytest.mark.parametrize("length", [1, 2, 7])
def test_a_window_longer_than_the_sequence_sees_all_of_it(length: int) -> None:
    assert torch.equal(square(Band(before=length, after=length), length), square(Band(), length))
    assert square(Band(), length).all()
    assert torch.equal(
        square(Band(before=length - 1, after=0), length), square(Band(after=0), length)
    )


def test_a_window_of_no_neighbours_sees_itself_alone() -> None:
    assert torch.equal(square(Band(before=0, after=0), 5), torch.eye(5, dtype=torch.bool))


PATTERNS = [
    Band(),
    Band(after=0),
    Band(2, 3),
    Band(0, 1),
    Band(1, 1, global_tokens=2),
    Band(global_tokens=1),
    Block(2),
    Block(9),
    Prefix(3),
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_causal_takes_away_the_future_and_nothing_else(pattern: Pattern) -> None:
    past = torch.ones(6, 6, dtype=torch.bool).tril()

    assert torch.equal(square(Causal(pattern), 6), square(pattern, 6) & past)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_that_hides_no_past_hides_none(pattern: Pattern) -> None:
    past = torch.ones(20, 20, dtype=torch.bool).tril()

    assert pattern.hides_past == Causal(pattern).hides_past
    assert pattern.hides_past or torch.equal(square(Causal(pattern), 20), past)


def test_the_first_tokens_see_all_and_are_seen_by_all() -> None:
    assert square(Band(1, 0, global_tokens=2), 6).tolist() == [
        [T, T, T, T, T, T],
        [T, T, T, T, T, T],
        [T, T, T, F, F, F],
        [T, T, T, T, F, F],
        [T, T, F, T, T, F],
        [T, T, F, F, T, T],
    ]
    assert square(Causal(Band(0, 0, global_tokens=1)), 3).tolist() == [
        [T, F, F],
        [T, T, F],
        [T, F, T],
    ]


def test_blocks_see_their_own() -> None:
    assert square(Block(2), 5).tolist() == [
        [T, T, F, F, F],
        [T, T, F, F, F],
        [F, F, T, T, F],
        [F, F, T, T, F],
        [F, F, F, F, T],
    ]


def test_a_prefix_is_seen_both_ways() -> None:
    assert square(Prefix(3), 5).tolist() == [
        [T, T, T, F, F],
        [T, T, T, F, F],
        [T, T, T, F, F],
        [T, T, T, T, F],
        [T, T, T, T, T],
    ]


def test_padding_is_seen_by_itself_alone() -> None:
    real = torch.tensor([[T, T, T, F], [T, F, F, F], [F, F, F, F]])

    assert encoder_mask(Band(), real).tolist() == [
        [[T, T, T, F], [T, T, T, F], [T, T, T, F], [T, T, T, T]],
        [[T, F, F, F], [T, T, F, F], [T, F, T, F], [T, F, F, T]],
        [[T, F, F, F], [F, T, F, F], [F, F, T, F], [F, F, F, T]],
    ]
    assert encoder_mask(Band(before=1, after=0), real)[0].tolist() == [
        [T, F, F, F],
        [T, T, F, F],
        [F, T, T, F],
        [F, F, T, T],
    ]
