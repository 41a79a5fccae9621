"""Outputs and their references into scores."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rapidfuzz.distance import Levenshtein

from builder.errors import DataError

if TYPE_CHECKING:
    from sacrebleu import BLEU, CHRF


def score(
    outputs: Sequence[str], references: Sequence[str], *, text_metrics: bool
) -> dict[str, float]:
    """Percentages over all lines, outputs against the references of the same places.

    - `exact_match`: lines that equal their reference.
    - `sequence_error`: 100 − `exact_match` (pronunciation papers call it WER).
    - `token_error`: insertions, deletions and substitutions of tokens (Levenshtein, 1966) over
      all lines, per token of all references (PER for phonemes); it can be over 100.
    - `char_error`: the same of code points.
    - With `text_metrics`, `bleu` (Papineni et al., 2002) and `chrf` (Popović, 2015), as
      `signatures` says; both get the lines as they are.

    The first four compare as the tokenizers do: after NFC, runs of white space one space, none at
    the ends; tokens are what spaces part. If all references are empty, each edit counts 100.

    Raises:
        DataError: there are no lines.
        ModuleNotFoundError: `text_metrics` without sacrebleu.
    """
    if len(outputs) != len(references):
        raise RuntimeError(f"{len(outputs)} outputs for {len(references)} references")
    if not references:
        raise DataError("no lines to score")
    ours = [_normalise(line) for line in outputs]
    theirs = [_normalise(line) for line in references]
    exact = 100 * sum(map(str.__eq__, ours, theirs)) / len(theirs)
    scores = {
        "exact_match": exact,
        "sequence_error": 100 - exact,
        "token_error": _edits([line.split() for line in ours], [line.split() for line in theirs]),
        "char_error": _edits(ours, theirs),
    }
    if text_metrics:
        for name, metric in _text_metrics().items():
            scores[name] = metric.corpus_score(outputs, [references]).score
    return scores


def signatures() -> dict[str, str]:
    """How sacrebleu computes `bleu` and `chrf`, in its own short form (Post, 2018).

    Raises:
        ModuleNotFoundError: sacrebleu is not installed.
    """
    metrics = _text_metrics()
    for metric in metrics.values():
        metric.corpus_score([""], [[""]])  # the signature counts the references it has seen
    return {name: str(metric.get_signature()) for name, metric in metrics.items()}


def _normalise(line: str) -> str:
    return " ".join(unicodedata.normalize("NFC", line).split())


def _edits(outputs: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float:
    """Edits that turn outputs into references, per 100 elements of the references."""
    edits = sum(map(Levenshtein.distance, outputs, references))
    return 100 * edits / max(sum(map(len, references)), 1)


def _text_metrics() -> dict[str, BLEU | CHRF]:
    from sacrebleu import BLEU, CHRF

    return {"bleu": BLEU(force=True), "chrf": CHRF()}  # force: no warnings about tokenized text
