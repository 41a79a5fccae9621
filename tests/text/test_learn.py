from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

from builder.errors import TokenizerError
from builder.text.control import CONTROL_NAMES
from builder.text.learn import Kind, learn_tokenizer
from builder.text.tokenizer import TextTokenizer

LINES = ["b b b a a c", "a  b\tzebra", "Ärger aac"]


def vocabulary(tokenizer: TextTokenizer) -> list[str]:
    vocab: dict[str, int] = json.loads(tokenizer.to_json())["model"]["vocab"]
    return sorted(vocab, key=vocab.__getitem__)[len(CONTROL_NAMES) :]


def learn(kind: Kind, lines: list[str] = LINES, vocab_size: int | None = None) -> TextTokenizer:
    return learn_tokenizer(kind, lines, vocab_size=vocab_size, lowercase=False)


def test_characters_are_sorted_by_frequency_then_code_point() -> None:
    assert vocabulary(learn("char")) == [" ", "a", "b", "r", "c", "e", "g", "z", "Ä"]


def test_words_are_sorted_by_frequency_then_code_point() -> None:
    assert vocabulary(learn("word")) == [" b", " a", " aac", " c", " zebra", " Ärger"]


@pytest.mark.parametrize(("kind", "kept"), [("char", [" ", "a"]), ("word", [" b", " a"])])
def test_a_size_keeps_the_most_frequent(kind: Kind, kept: list[str]) -> None:
    assert vocabulary(learn(kind, vocab_size=6)) == kept


def test_a_size_above_the_words_keeps_them_all() -> None:
    assert learn("word", vocab_size=1000).vocab_size == 10


def test_bpe_merges_the_most_frequent_pair_first() -> None:
    pieces = vocabulary(learn("bpe", ["low low low lower new"], vocab_size=15))

    assert pieces[:7] == [" ", "e", "l", "n", "o", "r", "w"]
    assert pieces[7] in {" l", "lo", "ow"}
    assert " low" in pieces


@pytest.mark.parametrize(("kind", "vocab_size"), [("char", None), ("word", 40), ("bpe", 60)])
def test_equal_lines_give_equal_tokenizers(kind: Kind, vocab_size: int | None) -> None:
    draw = random.Random(3)
    lines = [" ".join("".join(draw.choices("abcdé", k=4)) for _ in range(6)) for _ in range(50)]

    first = learn(kind, lines, vocab_size).to_json()

    assert learn(kind, lines, vocab_size).to_json() == first
    if kind != "bpe":
        assert learn(kind, lines[::-1], vocab_size).to_json() == first


def test_lines_may_come_from_a_generator() -> None:
    made = learn_tokenizer("bpe", (line for line in LINES), vocab_size=20, lowercase=False)

    assert made.to_json() == learn("bpe", vocab_size=20).to_json()


def test_an_unreachable_bpe_size_names_the_largest_that_works() -> None:
    with pytest.raises(TokenizerError) as caught:
        learn("bpe", vocab_size=32_000)

    largest = int(str(caught.value).split()[-1])
    assert learn("bpe", vocab_size=largest).vocab_size == largest
    with pytest.raises(TokenizerError):
        learn("bpe", vocab_size=largest + 1)


@pytest.mark.parametrize("vocab_size", [1, 4, 9])
def test_a_bpe_size_below_the_alphabet_names_the_least_that_works(vocab_size: int) -> None:
    with pytest.raises(TokenizerError) as caught:
        learn("bpe", vocab_size=vocab_size)

    least = int(str(caught.value).split()[-1])
    assert learn("bpe", vocab_size=least).vocab_size == least
    with pytest.raises(TokenizerError):
        learn("bpe", vocab_size=least - 1)


@pytest.mark.parametrize("vocab_size", [1, 4])
def test_a_vocabulary_needs_room_for_text(vocab_size: int) -> None:
    with pytest.raises(TokenizerError):
        learn("word", vocab_size=vocab_size)


@pytest.mark.parametrize("kind", ["char", "word", "bpe"])
@pytest.mark.parametrize("make", [list, lambda: [""], lambda: [" \u2028", "\ufeff"]])
def test_nothing_can_be_learned_from_no_text(kind: Kind, make: Callable[[], list[str]]) -> None:
    with pytest.raises(TokenizerError):
        learn(kind, make(), 100)
