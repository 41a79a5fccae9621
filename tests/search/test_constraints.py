from __future__ import annotations

import random
from itertools import product
from typing import NamedTuple

import pytest
import torch

from builder.options import NO_LIMIT
from builder.search.constraints import Rules, barred
from builder.search.found import BOS_ID, EOS_ID, PAD_ID
from builder.search.options import Options

NOTHING_ASKED = Options(torch.tensor(NO_LIMIT))


class Case(NamedTuple):
    rules: Rules
    min_length: int | None
    prefix: list[list[int]] | None

    def options(self) -> Options:
        return NOTHING_ASKED._replace(
            min_length=None if self.min_length is None else torch.tensor(self.min_length),
            target_prefix=None if self.prefix is None else torch.tensor(self.prefix),
        )


def reference(case: Case, row: int, written: list[int], vocab: int) -> list[bool]:
    """The rules as the design tells them, one token at a time."""
    size, place = case.rules.no_repeat_ngram_size, len(written)
    runs = {tuple(written[at : at + size]) for at in range(place - size + 1)} if size else set()
    bars = []
    for token in range(vocab):
        repeats = size > 0 and token != EOS_ID
        repeats = repeats and (*written[place - size + 1 :], token) in runs
        early = token == EOS_ID and case.min_length is not None and place + 1 < case.min_length
        bars.append(repeats or early or token in case.rules.suppress)
    if case.prefix is not None and place < len(case.prefix[row]):
        forced = case.prefix[row][place]
        if forced >= 0:
            bars = [token != forced for token in range(vocab)]
    if all(bars[EOS_ID:]):
        bars[EOS_ID] = False
    return bars


def bars_of(case: Case, tokens: list[list[list[int]]], vocab: int) -> list[list[list[bool]]]:
    found = barred(case.rules, case.options(), torch.tensor(tokens, dtype=torch.int64), vocab)
    assert found is not None
    return found.tolist()


def bars_after(rules: Rules, written: list[int], vocab: int, **asked: object) -> list[int]:
    """The tokens barred after these, in one row with one hypothesis."""
    options = NOTHING_ASKED._replace(**asked)  # type: ignore[arg-type]
    found = barred(rules, options, torch.tensor([[written]], dtype=torch.int64), vocab)
    assert found is not None
    return found[0, 0].nonzero().flatten().tolist()


@pytest.mark.parametrize("size", range(5))
@pytest.mark.parametrize("suppress", [(), (3,), (5, EOS_ID, 3)])
@pytest.mark.parametrize("min_length", [None, 1, 4, 100])
@pytest.mark.parametrize("prefix", [False, True])
def test_agrees_with_the_reference(
    size: int, suppress: tuple[int, ...], min_length: int | None, prefix: bool
) -> None:
    chance = random.Random(size)
    vocab = 7
    for rows, beams, time in product([1, 3], [1, 2], [0, 1, 2, 3, 6, 12]):
        columns = chance.choice([1, 3, 12, 20])
        forced = [[chance.choice([-1, 2, 3, 6]) for _ in range(columns)] for _ in range(rows)]
        case = Case(Rules(size, suppress), min_length, forced if prefix else None)
        tokens = [
            [[chance.choice([2, 3, 4, 5, 6]) for _ in range(time)] for _ in range(beams)]
            for _ in range(rows)
        ]
        if not size and not suppress and min_length is None and not prefix:
            assert (
                barred(case.rules, case.options(), torch.tensor(tokens, dtype=torch.int64), vocab)
                is None
            )
            continue
        expected = [
            [reference(case, row, written, vocab) for written in tokens[row]] for row in range(rows)
        ]
        assert bars_of(case, tokens, vocab) == expected


@pytest.mark.parametrize(
    ("size", "written", "expected"),
    [
        (1, [], []),
        (1, [4, 3, 4], [3, 4]),
        (2, [4], []),
        (2, [4, 4], [4]),
        (2, [3, 4, 5, 3], [4]),
        (2, [3, 4, 3, 5, 3], [4, 5]),
        (2, [3, 4, 5], []),
        (3, [3, 4, 5, 3, 4], [5]),
        (3, [3, 3], []),
        (3, [3, 3, 3], [3]),
        (4, [3, 4], []),
    ],
)
def test_no_run_is_written_twice(size: int, written: list[int], expected: list[int]) -> None:
    assert bars_after(Rules(size), written, 6) == expected


def test_an_end_is_never_a_repeat() -> None:
    """After an end come only pads, so this is what a search never asks; it holds all the same."""
    assert bars_after(Rules(1), [3, EOS_ID, 3], 5) == [3]
    assert bars_after(Rules(2), [3, EOS_ID, 3], 5) == []


def test_pads_of_ended_hypotheses_bar_nothing_elsewhere() -> None:
    ended, alive = [3, EOS_ID, PAD_ID, PAD_ID], [3, 4, 5, 3]

    together = bars_of(Case(Rules(2), None, None), [[ended, alive], [alive, ended]], 6)

    alone = bars_of(Case(Rules(2), None, None), [[alive]], 6)
    assert together[0][1] == together[1][0] == alone[0][0]


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("words", [0, 1, 3])
def test_where_everything_is_barred_the_end_is_left(size: int, words: int) -> None:
    """GEN-14: a model that dislikes to end, of very few words, still ends."""
    vocab = EOS_ID + 1 + words
    liked = torch.arange(float(vocab))
    liked[[PAD_ID, BOS_ID]] = float("-inf")
    written: list[int] = []

    while EOS_ID not in written:
        tokens = torch.tensor([[written]], dtype=torch.int64)
        bars = barred(
            Rules(size), NOTHING_ASKED._replace(min_length=torch.tensor(99)), tokens, vocab
        )
        assert bars is not None
        written.append(int(liked.masked_fill(bars[0, 0], float("-inf")).argmax()))

    runs = [tuple(written[at : at + size]) for at in range(len(written) - size + 1)]
    assert len(set(runs)) == len(runs)
    assert all(token >= EOS_ID for token in written)
    assert (words == 0) == (written == [EOS_ID])


def test_everything_suppressed_leaves_the_end() -> None:
    assert bars_after(Rules(suppress=(0, 1, 2, 3, 4)), [3], 5) == [0, 1, 3, 4]
    assert bars_after(Rules(suppress=(2, 3, 4)), [3], 5) == [3, 4]
    assert bars_after(Rules(suppress=(2, 3)), [3], 5) == [2, 3]


@pytest.mark.parametrize("least", [-1, 0, 1, 2, 3, 4])
def test_an_end_comes_no_earlier_than_it_may(least: int) -> None:
    """The end counts: with a least length of 3, two words and the end are enough."""
    for time in range(4):
        bars = bars_after(Rules(), [3, 4, 3][:time], 5, min_length=torch.tensor(least))
        assert bars == ([EOS_ID] if time + 1 < least else [])


@pytest.mark.parametrize("forced", [EOS_ID, 3, 4, 5])
def test_a_prefix_beats_every_other_rule(forced: int) -> None:
    """GEN-13: forced are a repeat, a suppressed token and an end that comes too early."""
    prefix = torch.tensor([[-1, -1, forced]])
    rules, early = Rules(1, (5,)), torch.tensor(50)

    bars = bars_after(rules, [3, 4], 6, target_prefix=prefix, min_length=early)

    assert bars == [token for token in range(6) if token != forced]
    for written in ([3], [3, 4, 4]):  # Before and past the forced position the rules hold.
        asked = bars_after(rules, written, 6, target_prefix=prefix, min_length=early)
        assert asked == bars_after(rules, written, 6, min_length=early) != []


@pytest.mark.parametrize("impossible", [PAD_ID, BOS_ID, 6, 7, 2**31])
def test_a_prefix_of_what_no_model_writes_asks_for_the_end(impossible: int) -> None:
    """What is asked for would have probability 0, and nothing would be left."""
    bars = bars_after(Rules(), [3], 6, target_prefix=torch.tensor([[3, impossible]]))

    assert [token for token in range(EOS_ID, 6) if token not in bars] == [EOS_ID]


def test_every_row_has_its_own_prefix_and_its_hypotheses_share_it() -> None:
    case = Case(Rules(), None, [[3, 4, 5], [4, -1, -1], [-1, 3, -1]])

    bars = bars_of(case, [[[3], [4]]] * 3, 6)

    free = [[token for token in range(6) if not beams[0][token]] for beams in bars]
    assert free == [[4], [0, 1, 2, 3, 4, 5], [3]]
    assert all(first == second for first, second in bars)


def test_nothing_to_bar_is_told_before_the_first_token() -> None:
    tokens = torch.zeros(2, 1, 0, dtype=torch.int64)

    assert barred(Rules(), NOTHING_ASKED, tokens, 5) is None
    for rules, options in [
        (Rules(1), NOTHING_ASKED),
        (Rules(suppress=(3,)), NOTHING_ASKED),
        (Rules(), NOTHING_ASKED._replace(min_length=torch.tensor(1))),
        (Rules(), NOTHING_ASKED._replace(target_prefix=torch.full((2, 1), -1))),
    ]:
        bars = barred(rules, options, tokens, 5)
        assert bars is not None
        assert bars.shape == (2, 1, 5)
