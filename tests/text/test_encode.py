from __future__ import annotations

import pytest

from builder.errors import DataError
from builder.text.encode import check_length, encode_lines, encode_pairs
from builder.text.learn import learn_tokenizer

TOKENIZER = learn_tokenizer("char", ["abc"], vocab_size=None, lowercase=False)


def test_a_line_without_text_has_no_ids() -> None:
    encoded = encode_lines(TOKENIZER, ["ab", "", " \t\u2028", "c"], limit=3)

    assert list(map(len, encoded)) == [3, 0, 0, 2]
    assert encoded[0] == TOKENIZER.encode(["ab"])[0]


def test_the_limit_counts_the_end() -> None:
    assert len(encode_lines(TOKENIZER, ["ab"], limit=3)[0]) == 3
    assert len(encode_lines(TOKENIZER, ["a" * 1000], limit=None)[0]) == 1001

    with pytest.raises(DataError, match=r"^pair 8: 4 tokens, .* 3 positions$"):
        encode_lines(TOKENIZER, ["ab", "abc"], limit=3, first_line=7, noun="pair")
    with pytest.raises(DataError, match=r"^line 1: "):
        check_length(4, 3, "line 1")


def test_pairs_keep_their_places_and_their_ends() -> None:
    sides = (TOKENIZER, TOKENIZER)
    end = TOKENIZER.encode([""])[0]

    pairs = encode_pairs(sides, [("ab", "c"), ("", " "), ("c", "")], limit=3)

    assert pairs == [
        (TOKENIZER.encode(["ab"])[0], TOKENIZER.encode(["c"])[0]),
        ([], end),
        (TOKENIZER.encode(["c"])[0], end),
    ]
    with pytest.raises(DataError, match=r"pair 12: .*empty source"):
        encode_pairs(sides, [("a", "b"), ("", "b")], limit=3, first_line=11, noun="pair")
    with pytest.raises(DataError, match="line 2: 4 tokens"):
        encode_pairs(sides, [("a", "b" * 9), ("abc", "b")], limit=3)
