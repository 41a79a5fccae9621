"""A first line is taken for a header only where it can hardly be a pair."""

from __future__ import annotations

import pytest

from builder.data.header import is_header
from builder.data.pairs import Pairs

KATAKANA = [("Anna", "アンナ"), ("Bob", "ボブ"), ("Carl", "カール")] * 4
SENTENCES = [("he goes", "er geht"), ("they come", "sie kommen")] * 6
SPELLING = [("cat", "K AE T"), ("hat", "HH AE T")] * 6


@pytest.mark.parametrize(
    ("first", "rest"),
    [
        (("source", "target"), SENTENCES),
        (("English", "German"), SENTENCES[:1]),
        (("en", "de"), SENTENCES),
        (("name", "katakana"), KATAKANA),
        (("word", "phones"), SPELLING),
        (("spelled", "spoken"), SPELLING),
    ],
)
def test_names_of_columns(first: tuple[str, str], rest: list[tuple[str, str]]) -> None:
    sources, targets = map(list, zip(first, *rest, strict=True))
    assert is_header(Pairs(sources, targets))


@pytest.mark.parametrize(
    ("first", "rest"),
    [
        (("go", "geh"), SENTENCES),
        (("Hello.", "Hallo."), SENTENCES),
        (("en", "de"), [("en", "in"), *SENTENCES]),
        (("text", "text"), SENTENCES),
        (("1999", "iso"), KATAKANA),
        (("NATO", "NATO"), KATAKANA),
        (("IBM", "アイビーエム"), KATAKANA),
        (("日本", "Nippon"), SENTENCES),
        (("name", "katakana"), KATAKANA[:5]),
        (("source", "target"), []),
    ],
)
def test_what_may_be_a_pair(first: tuple[str, str], rest: list[tuple[str, str]]) -> None:
    sources, targets = map(list, zip(first, *rest, strict=True))
    assert not is_header(Pairs(sources, targets))


def test_nothing_has_no_header() -> None:
    assert not is_header(Pairs([], []))
