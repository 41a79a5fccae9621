"""Two columns into whether their first line names them."""

from __future__ import annotations

import re
from collections import Counter

from builder.data.pairs import Pairs

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_ .-]{0,39}")
USUAL = frozenset(
    {
        *("source", "target", "src", "tgt", "trg", "input", "output", "x", "y", "text", "label"),
        *("word", "words", "lemma", "form", "grapheme", "graphemes", "phones", "phoneme"),
        *("phonemes", "pronunciation", "ipa", "sentence", "sentence1", "sentence2", "translation"),
        *("transliteration", "original", "reference", "normalized", "question", "answer", "date"),
        *("en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "fi", "no", "ru", "uk", "pl", "cs"),
        *("tr", "ar", "he", "hi", "zh", "ja", "ko", "english", "german", "french", "spanish"),
        *("italian", "portuguese", "dutch", "russian", "chinese", "japanese", "korean", "arabic"),
    }
)
"""What columns of pairs are mostly called."""
LINES = 10
"""With fewer lines below it, a first line differs from them by chance."""
SHARE = 0.01
"""Letters that make up less of a column are not what it is made of."""


def is_header(pairs: Pairs) -> bool:
    """Whether the first pair is no pair, but what the columns are called.

    Both of it look like names and never come up again, and either both are usual names, or the
    letters of one are foreign to what stands below it.
    """
    if len(pairs) < 2:
        return False
    columns = (pairs.sources, pairs.targets)
    names = [column[0].strip() for column in columns]
    if names[0] == names[1] or not all(map(NAME.fullmatch, names)):
        return False
    if any(name in column[1:] for name, column in zip(names, columns, strict=True)):
        return False
    if all(name.lower() in USUAL for name in names):
        return True
    below = [_is_foreign(name, column[1:]) for name, column in zip(names, columns, strict=True)]
    return len(pairs) > LINES and any(below)


def _is_foreign(name: str, column: list[str]) -> bool:
    """Whether the letters of `name` hardly come up in `column`."""
    counts = Counter(character for line in column for character in line)
    letters = sum(counts[character] for character in set(name) if character.isalpha())
    return letters < SHARE * counts.total()
