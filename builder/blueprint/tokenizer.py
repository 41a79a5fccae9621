"""The `tokenizer` section: how text becomes ids, for both sides or for each."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from builder.blueprint.section import Section, VocabularySize, Word


class Char(Section):
    """One piece for each character (Unicode code point after NFC)."""

    kind: Literal["char"]
    lowercase: bool = False
    """Lower-case the text."""


class WordPieces(Section):
    """One piece for each word between spaces."""

    kind: Literal["word"]
    vocab_size: VocabularySize | None = None
    """The most rows to keep, by frequency; all words unless given."""
    lowercase: bool = False
    """Lower-case the text."""


class BPE(Section):
    """Pieces merged by frequency (Sennrich et al., 2016)."""

    kind: Literal["bpe"]
    vocab_size: VocabularySize
    """Rows, the four control ids included."""
    lowercase: bool = False
    """Lower-case the text."""


Recipe = Annotated[Char | WordPieces | BPE, Field(discriminator="kind"), Word]


class Tokenizer(Section):
    """One tokenizer for both sides, or one for each."""

    shared: bool
    """One vocabulary, learned from both sides together; true unless a side is written apart."""
    source: Recipe
    """How source text is cut into pieces."""
    target: Recipe
    """How target text is cut into pieces."""


class WrittenTokenizer(Tokenizer):
    """The tokenizers as a user writes them: the keys of a recipe may stand once, for both."""

    kind: Literal["char", "word", "bpe"] | None = None
    """What pieces are, on both sides."""
    vocab_size: VocabularySize | None = None
    """Rows, the four control ids included: `bpe` reaches it, `word` keeps at most as many."""
    lowercase: bool | None = None
    """Lower-case the text of both sides."""
