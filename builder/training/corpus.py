"""The `data` and `tokenizer` sections into tokenizers, token stores and a report."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from builder.blueprint.data import Data
from builder.blueprint.tokenizer import BPE, Recipe, Tokenizer, WordPieces
from builder.data.pairs import Pairs
from builder.data.store import Encoded, PairStore, TokenStore, encode_pairs
from builder.dataset import read_pairs
from builder.errors import DataError
from builder.text.control import UNK_ID
from builder.text.learn import learn_tokenizer
from builder.text.tokenizer import TextTokenizer
from builder.wording import counted

Tokenizers = tuple[TextTokenizer, TextTokenizer]
"""Those of source and target; one object twice where they are shared."""


@dataclass(frozen=True)
class Corpus:
    """All that a training reads: what to learn from, and what to be measured on."""

    tokenizers: Tokenizers
    train: PairStore
    valid: PairStore
    valid_pairs: Pairs
    """The texts of `valid`, in its order."""
    report: dict[str, Any]
    """Counts of what was read, dropped and unknown."""

    @property
    def digest(self) -> str:
        """A fingerprint of every id in its place: equal corpora train alike."""
        content = hashlib.sha256()
        for store in (self.train.source, self.train.target, self.valid.source, self.valid.target):
            content.update(store.offsets.data)
            content.update(store.ids.data)
        return content.hexdigest()


def read_corpus(data: Data, tokenizer: Tokenizer | Tokenizers, *, measured: int) -> Corpus:
    """Read the pairs and encode them; at most `measured` validation pairs are kept.

    A `tokenizer` section is learned from the training pairs; tokenizers are taken as they are.

    Raises:
        DataError: A file is missing or unreadable, or no pair of a part can be used.
        TokenizerError: The text allows no such tokenizer.
    """
    train, valid = read_pairs(data, "train"), read_pairs(data, "valid")
    refuse_empty("data.train", train)
    refuse_empty("data.valid", valid)
    tokenizers = learn(tokenizer, train) if isinstance(tokenizer, Tokenizer) else tokenizer
    limits = (data.max_length.source, data.max_length.target)
    encoded_train, train_report = _encode("data.train", train, tokenizers, limits)
    chosen = _some(valid, measured)
    encoded_valid, valid_report = _encode("data.valid", chosen, tokenizers, limits)
    report = {
        "train": train_report,
        "valid": valid_report | {"read": len(valid)},
        "vocabulary": {"source": tokenizers[0].vocab_size, "target": tokenizers[1].vocab_size},
    }
    valid_pairs = _at(chosen, encoded_valid.kept.tolist())
    return Corpus(tokenizers, encoded_train.store, encoded_valid.store, valid_pairs, report)


def learn(tokenizer: Tokenizer, pairs: Pairs) -> Tokenizers:
    """Learn the vocabularies, from both sides together where one serves both.

    Raises:
        TokenizerError: The text allows no such tokenizer; the message names its key.
    """
    if tokenizer.shared:
        shared = _learn("tokenizer", tokenizer.source, [*pairs.sources, *pairs.targets])
        return shared, shared
    return (
        _learn("tokenizer.source", tokenizer.source, pairs.sources),
        _learn("tokenizer.target", tokenizer.target, pairs.targets),
    )


def _learn(key: str, recipe: Recipe, lines: Iterable[str]) -> TextTokenizer:
    vocab_size = recipe.vocab_size if isinstance(recipe, WordPieces | BPE) else None
    return learn_tokenizer(
        recipe.kind, lines, vocab_size=vocab_size, lowercase=recipe.lowercase, key=key
    )


def _encode(
    key: str, pairs: Pairs, tokenizers: Tokenizers, limits: tuple[int, int]
) -> tuple[Encoded, dict[str, Any]]:
    encoded = encode_pairs(pairs, *tokenizers, *limits)
    store, dropped = encoded.store, pairs.dropped | encoded.dropped
    if not len(store):
        raise _unusable(key, pairs, dropped)
    report = {
        "pairs": len(store),
        "dropped": dropped,
        "tokens": {"source": len(store.source.ids), "target": len(store.target.ids)},
        "unknown": {"source": _unknown(store.source), "target": _unknown(store.target)},
    }
    return encoded, report | ({"note": pairs.note} if pairs.note else {})


def describe(part: str, report: dict[str, Any]) -> str:
    """Put the report of one part into a line."""
    dropped = ", ".join(f"{count:,} {reason}" for reason, count in report["dropped"].items())
    left_out = f"; left out: {dropped}" if dropped else ""
    note = f" ({report['note']})" if "note" in report else ""
    return f"{part}: {counted(report['pairs'], 'pair')}{left_out}{note}"


def refuse_empty(key: str, pairs: Pairs) -> None:
    """Refuse a part of the data, named by its `key`, of which no pair has text on both sides.

    Raises:
        DataError: It is such a part; the message counts what was dropped.
    """
    if not len(pairs):
        raise _unusable(key, pairs, pairs.dropped)


def _unusable(key: str, pairs: Pairs, dropped: dict[str, int]) -> DataError:
    reasons = ", ".join(f"{count} {reason}" for reason, count in dropped.items())
    return DataError(f"{key}: 0 usable pairs in {pairs.origin}; dropped: {reasons or 'none'}")


def _unknown(store: TokenStore) -> float:
    """The share of tokens that the vocabulary lacks."""
    return float((store.ids == UNK_ID).mean())


def _some(pairs: Pairs, count: int) -> Pairs:
    """Choose at most `count` pairs, the same ones in every training on the same data."""
    if len(pairs) <= count:
        return pairs
    chosen = np.sort(np.random.default_rng(0).permutation(len(pairs))[:count]).tolist()
    return _at(pairs, chosen)


def _at(pairs: Pairs, indices: list[int]) -> Pairs:
    return Pairs(
        [pairs.sources[index] for index in indices],
        [pairs.targets[index] for index in indices],
        pairs.dropped,
        pairs.origin,
        pairs.note,
    )
