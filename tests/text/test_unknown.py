"""What a vocabulary lacks is found as it stands in the line, and counted."""

from __future__ import annotations

import pytest

from builder.text.control import UNK_ID
from builder.text.learn import Kind, learn_tokenizer
from builder.text.unknown import UnknownPieces

LINES = ["the cat", "a hat"]


@pytest.mark.parametrize(
    ("kind", "line", "unknown"),
    [
        ("char", "the cat", []),
        ("char", "  thé  cat\u00a0日 ", ["é", "日"]),
        ("char", "the\u0301", ["\u00e9"]),
        ("bpe", "a bad hat", ["b", "d"]),
        ("word", "the  dog ate  a hat", ["dog", "ate"]),
        ("word", "\tdog", ["dog"]),
        ("word", "", []),
    ],
)
def test_parts_that_the_vocabulary_lacks(kind: Kind, line: str, unknown: list[str]) -> None:
    size = 14 if kind == "bpe" else None
    tokenizer = learn_tokenizer(kind, LINES, vocab_size=size, lowercase=False)

    assert tokenizer.unknown(line) == unknown
    assert tokenizer.encode([line])[0].count(UNK_ID) == len(unknown)


def test_a_report_counts_all_and_names_the_first() -> None:
    seen = UnknownPieces(learn_tokenizer("char", LINES, vocab_size=None, lowercase=False))
    seen.look(["the cat", "bzz"])
    seen.look(["", "b\x07", "fgi"], first_line=3)

    text = seen.describe()
    assert seen.count == 8
    assert "8 pieces in 3 lines" in text
    assert text.endswith("`b` in line 2, `z` in line 2, `\\x07` in line 4, "
                         "`f` in line 5, `g` in line 5, …")  # fmt: skip


def test_a_report_of_one_is_in_the_singular() -> None:
    seen = UnknownPieces(learn_tokenizer("char", LINES, vocab_size=None, lowercase=False))
    seen.look(["cab"])

    assert "1 piece in 1 line," in seen.describe()
    assert "…" not in seen.describe()
