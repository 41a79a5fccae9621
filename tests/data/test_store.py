from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from builder.data import store as store_module
from builder.data.pairs import Pairs
from builder.data.store import TokenStore, encode_pairs
from builder.text.control import EOS_ID
from builder.text.learn import learn_tokenizer

LINES = ["abc", "a", "ab abc", "cab", "bb"]
TARGETS = ["A", "BB", "ABAB", "B" * 9, "A B"]
SOURCE = learn_tokenizer("char", LINES, vocab_size=None, lowercase=False)
TARGET = learn_tokenizer("char", TARGETS, vocab_size=None, lowercase=False)


@pytest.mark.parametrize("chunk_lines", [1, 2, 5, 100])
def test_stored_sequences_are_the_encoded_lines(
    monkeypatch: pytest.MonkeyPatch, chunk_lines: int
) -> None:
    monkeypatch.setattr(store_module, "CHUNK_LINES", chunk_lines)

    stored, kept, dropped = encode_pairs(Pairs(LINES, TARGETS), SOURCE, TARGET, 20, 20)

    assert [ids.tolist() for ids in stored.source] == SOURCE.encode(LINES)
    assert [ids.tolist() for ids in stored.target] == TARGET.encode(TARGETS)
    assert stored.target.lengths.tolist() == [2, 3, 5, 10, 4]
    assert kept.tolist() == [0, 1, 2, 3, 4]
    assert dropped == {}


@pytest.mark.parametrize("chunk_lines", [1, 2, 100])
def test_long_pairs_are_dropped_and_counted_by_side(
    monkeypatch: pytest.MonkeyPatch, chunk_lines: int
) -> None:
    monkeypatch.setattr(store_module, "CHUNK_LINES", chunk_lines)

    stored, kept, dropped = encode_pairs(Pairs(LINES, TARGETS), SOURCE, TARGET, 4, 9)

    assert SOURCE.decode(ids.tolist() for ids in stored.source) == ["abc", "a", "bb"]
    assert TARGET.decode(ids.tolist() for ids in stored.target) == ["A", "BB", "A B"]
    assert kept.tolist() == [0, 1, 4]
    assert dropped == {"source over 4 tokens": 1, "target over 9 tokens": 1}
    assert len(stored) == 3


def test_a_giant_among_short_pairs_takes_room_for_itself_alone() -> None:
    tokens = 50_000
    pairs = Pairs(["ab"] * 1000 + ["a" * tokens], ["A"] * 1001)

    tracemalloc.start()
    stored, _, dropped = encode_pairs(pairs, SOURCE, TARGET, 64, 64)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(stored) == 1000
    assert dropped == {"source over 64 tokens": 1}
    assert peak < 100 * tokens  # a row of that width for each pair would take twenty times as much


def test_the_limit_counts_the_end_mark() -> None:
    for limit, kept in [(3, 0), (4, 1)]:
        stored, _, _ = encode_pairs(Pairs(["abc"], ["A"]), SOURCE, TARGET, limit, limit)
        assert len(stored) == kept


def test_no_pairs_give_an_empty_store() -> None:
    stored, kept, dropped = encode_pairs(Pairs([], []), SOURCE, TARGET, 9, 9)

    assert (len(stored), dropped) == (0, {})
    assert stored.source.lengths.tolist() == kept.tolist() == []


def test_ids_are_as_narrow_as_the_vocabulary_allows() -> None:
    wide = learn_tokenizer(
        "char", ["".join(map(chr, range(0x20000, 0x2A6D0)))], vocab_size=None, lowercase=False
    )
    wider = learn_tokenizer(
        "word", [" ".join(map(str, range(2**16 - 4)))], vocab_size=None, lowercase=False
    )
    widest = learn_tokenizer(
        "word", [" ".join(map(str, range(2**16 - 3)))], vocab_size=None, lowercase=False
    )

    for tokenizer, dtype in [(wide, np.uint16), (wider, np.uint16), (widest, np.uint32)]:
        stored, _, _ = encode_pairs(Pairs(["𠀀"], ["65532"]), tokenizer, tokenizer, 9, 9)
        assert stored.target.ids.dtype == dtype
        assert stored.target[0].tolist() == tokenizer.encode(["65532"])[0]


def test_an_index_outside_is_refused() -> None:
    stored = TokenStore(np.array([EOS_ID], np.uint16), np.array([0, 1]))

    for index in (-1, 1):
        with pytest.raises(IndexError):
            stored[index]


def test_lengths_are_computed_once() -> None:
    stored = TokenStore(np.array([5, EOS_ID, EOS_ID], np.uint16), np.array([0, 2, 3]))

    assert stored.lengths is stored.lengths
    assert stored.lengths.tolist() == [2, 1]
