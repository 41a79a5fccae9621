from __future__ import annotations

import pytest
import torch

from builder.errors import DataError
from builder.search.limits import LengthRule
from builder.text.learn import learn_tokenizer
from builder.text.prefix import OutputLimit, check_prefix, encode_prefix, padded

TOKENIZER = learn_tokenizer("char", ["abc"], vocab_size=None, lowercase=False)
(ABC,) = TOKENIZER.encode(["abc"])


def test_one_for_all_or_one_for_each() -> None:
    assert encode_prefix(TOKENIZER, None, lines=2) == [[], []]
    assert encode_prefix(TOKENIZER, "abc", lines=2) == [ABC[:-1], ABC[:-1]]
    assert encode_prefix(TOKENIZER, ["abc", "", " a "], lines=3) == [ABC[:-1], [], ABC[:1]]
    assert encode_prefix(TOKENIZER, "", lines=1) == [[]]
    assert encode_prefix(TOKENIZER, [], lines=0) == []


@pytest.mark.parametrize("prefix", [["a"], ["a", "b", "c"], []])
def test_there_are_as_many_as_lines(prefix: list[str]) -> None:
    with pytest.raises(DataError, match=rf"{len(prefix)} .*\b2\b"):
        encode_prefix(TOKENIZER, prefix, lines=2)


def test_what_the_vocabulary_lacks_begins_no_output() -> None:
    with pytest.raises(DataError, match="'z'"):
        encode_prefix(TOKENIZER, "abz", lines=1)
    with pytest.raises(DataError, match="pair 12: 'z'"):
        encode_prefix(TOKENIZER, ["a", "z"], lines=2, first_line=11, noun="pair")
    with pytest.raises(DataError) as caught:
        encode_prefix(TOKENIZER, "\x1b", lines=1)
    assert "\x1b" not in str(caught.value)
    with pytest.raises(DataError, match="surrogate"):
        encode_prefix(TOKENIZER, "\udcff", lines=1)


def test_a_beginning_leaves_room_for_a_token() -> None:
    check_prefix([4] * 4, 5, "line 1")
    check_prefix([], 1, "line 1")
    check_prefix([4] * 9, None, "line 1")
    for tokens in (5, 6):
        with pytest.raises(DataError, match=rf"line 7: .*\b{tokens}\b.*\b5\b"):
            check_prefix([4] * tokens, 5, "line 7")


def test_free_places_are_below_0() -> None:
    assert padded([[4, 5], [], [6]]) == [[4, 5], [-1, -1], [6, -1]]
    assert padded([[], []]) == [[-1], [-1]]


@pytest.mark.parametrize("ratio", [0.0, 0.29, 1.0, 1.15, 1 / 3, 2.9999996])
@pytest.mark.parametrize("positions", [None, 30])
def test_limits_are_those_of_the_search(ratio: float, positions: int | None) -> None:
    ours = OutputLimit.of(ratio, 2, positions)
    theirs = LengthRule.of(ratio, 2, positions)

    for asked in (1, 7, 2**31 - 1):
        expected = theirs.limits(torch.arange(1, 101), torch.tensor(asked)).tolist()
        assert [ours.tokens(length, asked) for length in range(1, 101)] == expected
    assert ours.tokens(100) == ours.tokens(100, 2**31 - 1)
