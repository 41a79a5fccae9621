"""Lines of text into a vocabulary, and a vocabulary into a tokenizer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from builder.errors import TokenizerError
from builder.text.control import CONTROL_NAMES, EOS_ID, UNK_ID
from builder.text.tokenizer import TextTokenizer

Kind = Literal["char", "word", "bpe"]

SPACE = " "
"""Starts every word inside word and BPE pieces, so that no visible character stands for it."""
WHITE_SPACE = "[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+"
"""Unicode's White_Space, the separators Python adds, and the byte order mark, written out: what
`\\s` means differs between the languages that read the tokenizer."""


def learn_tokenizer(
    kind: Kind,
    lines: Iterable[str],
    *,
    vocab_size: int | None,
    lowercase: bool,
    key: str = "tokenizer",
) -> TextTokenizer:
    """Learn the vocabulary of `lines`; equal lines give an equal tokenizer.

    `char` has one piece for each code point and `word` one for each word between spaces: at most
    `vocab_size` rows, the most frequent kept, equal counts by code point. `bpe` merges characters
    by frequency (Sennrich et al., 2016) until it has exactly `vocab_size` rows. Messages begin
    with `key`, under which a user wrote these choices.

    Raises:
        TokenizerError: the lines hold no text, or allow no BPE vocabulary of `vocab_size` rows.
    """
    if kind == "bpe":
        if vocab_size is None:
            raise RuntimeError("a BPE vocabulary needs a size")
        pieces, merges = _learn_bpe(lines, vocab_size, lowercase, key)
        return TextTokenizer(_assemble(kind, pieces, merges, lowercase=lowercase))
    pieces = _most_frequent(kind, lines, vocab_size, lowercase, key)
    return TextTokenizer(_assemble(kind, pieces, [], lowercase=lowercase))


def _most_frequent(
    kind: Kind, lines: Iterable[str], vocab_size: int | None, lowercase: bool, key: str
) -> list[str]:
    """The pieces of `lines` without merges, the most frequent first."""
    normalizer = _normalizer(lowercase)
    counts: Counter[str] = Counter()
    for line in lines:
        text = normalizer.normalize_str(line)
        counts.update(text if kind == "char" else text.split())
    _refuse_empty(counts, key)
    least = len(CONTROL_NAMES) + 1
    if vocab_size is not None and vocab_size < least:
        raise TokenizerError(
            f"{key}.vocab_size: found {vocab_size}: so few rows hold no text; least: {least}"
        )
    kept = sorted(counts, key=lambda piece: (-counts[piece], piece))
    if vocab_size is not None:
        kept = kept[: vocab_size - len(CONTROL_NAMES)]
    return kept if kind == "char" else [SPACE + word for word in kept]


def _learn_bpe(
    lines: Iterable[str], vocab_size: int, lowercase: bool, key: str
) -> tuple[list[str], list[tuple[str, str]]]:
    """Pieces, characters first, and the merges that make the others."""
    inner = _assemble("bpe", [], [], lowercase=lowercase)
    rows = max(vocab_size - len(CONTROL_NAMES), 0)
    inner.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=rows, show_progress=False))
    model = json.loads(inner.to_str())["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].__getitem__)
    _refuse_empty(pieces, key)
    least = sum(len(piece) == 1 for piece in pieces) + len(CONTROL_NAMES)
    if vocab_size < least:
        raise TokenizerError(
            f"{key}.vocab_size: found {vocab_size}: so few rows cannot hold every character of "
            f"this text; least: {least}"
        )
    largest = len(pieces) + len(CONTROL_NAMES)
    if vocab_size > largest:
        raise TokenizerError(
            f"{key}.vocab_size: found {vocab_size}: this text has too few pieces for so many "
            f"rows; largest possible: {largest}"
        )
    return pieces, [(left, right) for left, right in model["merges"]]


def _refuse_empty(pieces: Sequence[str] | Counter[str], key: str) -> None:
    if not pieces:
        raise TokenizerError(f"{key}: no text to learn a vocabulary from")


def _assemble(
    kind: Kind, pieces: Sequence[str], merges: list[tuple[str, str]], *, lowercase: bool
) -> Tokenizer:
    """The pipeline of `kind` around a vocabulary: the control ids, then `pieces`."""
    vocabulary = {piece: i for i, piece in enumerate([*CONTROL_NAMES, *pieces])}
    unk = CONTROL_NAMES[UNK_ID]
    if kind == "word":
        inner = Tokenizer(models.WordLevel(vocabulary, unk_token=unk))
    else:
        inner = Tokenizer(models.BPE(vocabulary, merges, unk_token=unk))
    inner.normalizer = _normalizer(lowercase)
    if kind != "char":
        inner.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, prepend_scheme="always")
    eos = CONTROL_NAMES[EOS_ID]
    inner.post_processor = processors.TemplateProcessing(
        single=["$A", eos], special_tokens=[(eos, EOS_ID)]
    )
    inner.decoder = _decoder(kind)
    return inner


def _normalizer(lowercase: bool) -> normalizers.Normalizer:
    """NFC, lower case on demand, white space to single spaces and none at the ends."""
    lower = [normalizers.Lowercase(), normalizers.NFC()] if lowercase else []
    return normalizers.Sequence(
        [
            normalizers.NFC(),
            *lower,
            normalizers.Replace(Regex(WHITE_SPACE), " "),
            normalizers.Replace(Regex("^ | $"), ""),
        ]
    )


def _decoder(kind: Kind) -> decoders.Decoder:
    """Pieces into text: the control names vanish, unk becomes U+FFFD."""
    names = "|".join(name.strip() for i, name in enumerate(CONTROL_NAMES) if i != UNK_ID)
    unknown = SPACE + "\ufffd" if kind == "word" else "\ufffd"
    join = decoders.Fuse() if kind == "char" else decoders.Metaspace(SPACE, prepend_scheme="always")
    return decoders.Sequence(
        [
            decoders.Replace(Regex(f"^({names}) $"), ""),
            decoders.Replace(CONTROL_NAMES[UNK_ID], unknown),
            join,
        ]
    )
