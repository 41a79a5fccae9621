from __future__ import annotations

import json
import unicodedata
from typing import get_args

import pytest
from tokenizers import Tokenizer

from builder.errors import DataError, TokenizerError
from builder.text.control import BOS_ID, CONTROL_NAMES, EOS_ID, PAD_ID, UNK_ID
from builder.text.learn import Kind, learn_tokenizer
from builder.text.tokenizer import TextTokenizer

KINDS: tuple[Kind, ...] = get_args(Kind)
ODD_LINES = [
    "  leading and trailing  ",
    "double  spaces   and\ttabs \t mixed",
    "no-break\u00a0space, line\u2028separator, next\u0085line, vertical\x0btab",
    "emoji 👍🏽 with modifier, family 👩‍👩‍👧, flag 🇫🇷",
    "combining cafe\u0301, A\u030a, q\u0307\u0323",
    "Ångström \u212b ﬁ Ⅳ İstanbul ΑΣ",
    "שלום עולם \u200fمرحبا\u200e",
    "zero\u200bwidth soft\u00adhyphen joiner\u200d",
    "\ufeffmark",
    "\u0301starts with an accent",
    "block \u2581 character \ufffd",
    "literal </s> <pad> <unk> <s> </s> café",
    "\x00\x07\x1b[31m",
    "日本語と한국어",
    "",
    " \u3000 ",
]
CONTROLS = ["</s>", "</s> ", " <pad> ", "<s>x", "<unk> <unk>", "x </s> y", "<pad></s>"]


def tokenizer(
    kind: Kind, lines: list[str] = ODD_LINES, *, lowercase: bool = False
) -> TextTokenizer:
    vocab_size = 120 if kind == "bpe" else None
    learned = learn_tokenizer(kind, lines, vocab_size=vocab_size, lowercase=lowercase)
    return TextTokenizer.from_json(learned.to_json())


def normalised(line: str) -> str:
    """An independent writing of the documented normalisation."""
    return " ".join(unicodedata.normalize("NFC", line).replace("\ufeff", " ").split())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", ODD_LINES)
def test_decoding_restores_normalised_text(kind: Kind, line: str) -> None:
    ours = tokenizer(kind)

    assert ours.decode(ours.encode([line])) == [normalised(line)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lowercase", [False, True])
def test_a_second_round_changes_nothing(kind: Kind, lowercase: bool) -> None:
    ours = tokenizer(kind, ODD_LINES[:12], lowercase=lowercase)

    once = ours.decode(ours.encode(ODD_LINES))

    assert ours.decode(ours.encode(once)) == once


def test_normalisation_is_stable_for_every_character() -> None:
    everything = map(chr, range(0x110000))
    characters = [c for c in everything if unicodedata.category(c) not in {"Cn", "Co", "Cs"}]
    lines = ["".join(characters[i : i + 512]) for i in range(0, len(characters), 512)]
    for lowercase in (False, True):
        ours = learn_tokenizer("char", lines, vocab_size=None, lowercase=lowercase)
        once = ours.decode(ours.encode(lines))
        assert ours.decode(ours.encode(once)) == once


@pytest.mark.parametrize("kind", KINDS)
def test_lower_case_is_applied_on_demand(kind: Kind) -> None:
    ours = tokenizer(kind, lowercase=True)

    assert ours.decode(ours.encode(["LITERAL  <PAD> Cafe\u0301"])) == ["literal <pad> café"]
    assert ours.encode(["LITERAL </S>"]) == ours.encode(["literal </s>"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", CONTROLS)
def test_names_of_controls_are_ordinary_text(kind: Kind, line: str) -> None:
    ours = tokenizer(kind, CONTROLS * 3 if kind != "bpe" else ODD_LINES)
    (ids,) = ours.encode([line])

    assert ids[-1] == EOS_ID
    assert not {PAD_ID, BOS_ID, EOS_ID} & set(ids[:-1])
    if kind != "word" or UNK_ID not in ids:
        assert ours.decode([ids]) == [line.strip()]


@pytest.mark.parametrize("kind", KINDS)
def test_control_ids_come_first_and_are_no_added_tokens(kind: Kind) -> None:
    stored = json.loads(tokenizer(kind).to_json())

    assert stored["added_tokens"] == []
    assert [stored["model"]["vocab"][name] for name in CONTROL_NAMES] == [0, 1, 2, 3]
    others = set(stored["model"]["vocab"]) - set(CONTROL_NAMES)
    assert all(" " not in piece[1:] for piece in others)


@pytest.mark.parametrize("kind", KINDS)
def test_no_token_holds_a_byte_order_mark_or_line_break(kind: Kind) -> None:
    ours = tokenizer(kind, ["\ufeffplain words\r", "two\r\nlines\u2028three", *ODD_LINES])
    pieces = "".join(json.loads(ours.to_json())["model"]["vocab"])

    assert not set("\ufeff\r\n\u2028\t") & set(pieces)


@pytest.mark.parametrize("kind", KINDS)
def test_plain_library_reads_it_the_same_way(kind: Kind) -> None:
    ours = tokenizer(kind, ODD_LINES[:12])
    plain = Tokenizer.from_str(ours.to_json())
    lines = [*ODD_LINES, *CONTROLS, "never seen ☃☃ words"]

    encoded = [plain.encode(line).ids for line in lines]

    assert encoded == ours.encode(lines)
    assert [plain.decode(ids[:-1]) for ids in encoded] == ours.decode(encoded)
    assert [plain.decode([*ids, PAD_ID, PAD_ID]) for ids in encoded] == ours.decode(encoded)


@pytest.mark.parametrize(
    ("kind", "shown"), [("char", "the \ufffdat"), ("word", "the \ufffd"), ("bpe", "the \ufffdat")]
)
def test_the_unknown_becomes_the_replacement_character(kind: Kind, shown: str) -> None:
    vocab_size = 12 if kind == "bpe" else None
    ours = learn_tokenizer(kind, ["the hat"], vocab_size=vocab_size, lowercase=False)
    (ids,) = ours.encode(["the ☃at"])

    assert ids.count(UNK_ID) == 1
    assert ours.decode([ids]) == [shown]


@pytest.mark.parametrize("kind", KINDS)
def test_decoding_stops_at_the_end_and_drops_controls(kind: Kind) -> None:
    ours = tokenizer(kind)
    (ids,) = ours.encode(["literal </s>"])

    noisy = [BOS_ID, PAD_ID, *ids, *ids, PAD_ID]

    assert ours.decode([noisy, [], [EOS_ID], [PAD_ID]]) == ["literal </s>", "", "", ""]


def test_decoded_text_holds_no_line_break() -> None:
    stored = json.loads(tokenizer("char").to_json())
    size = len(stored["model"]["vocab"])
    stored["model"]["vocab"] |= {"\n": size, "\r": size + 1, "\u2028": size + 2}
    ours = TextTokenizer.from_json(json.dumps(stored))
    (ids,) = ours.encode(["it"])

    assert ours.decode([[ids[0], size + 1, size, ids[1], size + 2, ids[0]]]) == ["i t i"]


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_and_size(kind: Kind) -> None:
    ours = tokenizer(kind)

    assert "".join(ours.pieces(ODD_LINES[0])).strip() == "leading and trailing"
    assert ours.vocab_size == len(json.loads(ours.to_json())["model"]["vocab"])


def test_half_of_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(DataError, match=r"^line 2: "):
        tokenizer("char").encode(["fine", "broken \udc80"])
    with pytest.raises(DataError, match=r"^pair 12: "):
        tokenizer("char").encode(["fine", "broken \udc80"], first_line=11, noun="pair")


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"version": "1.0"}', "\x1b[31m"])
def test_other_text_is_no_tokenizer(text: str) -> None:
    with pytest.raises(TokenizerError) as caught:
        TextTokenizer.from_json(text)

    assert "\x1b" not in str(caught.value)


def test_another_tokenizer_is_refused() -> None:
    stored = json.loads(tokenizer("char").to_json())
    stored["model"]["vocab"] = {
        name.strip(): index for name, index in stored["model"]["vocab"].items()
    }
    stored["model"]["unk_token"] = "<unk>"
    stored["post_processor"] = None

    with pytest.raises(TokenizerError):
        TextTokenizer.from_json(json.dumps(stored))


def test_a_tokenizer_that_leaves_text_as_it_is_is_refused() -> None:
    """What is unknown is looked for in normalised text."""
    stored = json.loads(tokenizer("char").to_json())
    stored["normalizer"] = None

    with pytest.raises(TokenizerError):
        TextTokenizer.from_json(json.dumps(stored))
