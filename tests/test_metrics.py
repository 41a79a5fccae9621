from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.errors import DataError
from builder.metrics import score, signatures


def distance(a: Sequence[str], b: Sequence[str]) -> int:
    """The textbook table, row by row (Wagner and Fischer, 1974)."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


lines = st.lists(st.tuples(st.text("ab ", max_size=8), st.text("ab ", max_size=8)), min_size=1)


@given(lines)
def test_errors_equal_the_textbook_distance(pairs: list[tuple[str, str]]) -> None:
    outputs = [" ".join(output.split()) for output, _ in pairs]
    references = [" ".join(reference.split()) for _, reference in pairs]
    words = [(a.split(), b.split()) for a, b in zip(outputs, references, strict=True)]
    chars = list(zip(outputs, references, strict=True))

    scores = score(outputs, references, text_metrics=False)

    assert scores["exact_match"] == 100 * sum(a == b for a, b in chars) / len(chars)
    assert scores["sequence_error"] == 100 - scores["exact_match"]
    for name, both in (("token_error", words), ("char_error", chars)):
        total = sum(len(b) for _, b in both)
        edits = sum(distance(a, b) for a, b in both)
        assert scores[name] == pytest.approx(100 * edits / max(total, 1))


def test_errors_are_shares_of_all_reference_tokens() -> None:
    scores = score(["k a t", "d ɔ", "f"], ["k æ t", "d ɔ g", "f"], text_metrics=False)

    assert scores == {
        "exact_match": pytest.approx(100 / 3),
        "sequence_error": pytest.approx(200 / 3),
        "token_error": pytest.approx(100 * 2 / 7),
        "char_error": pytest.approx(100 * 3 / 11),
    }


@pytest.mark.parametrize(
    ("output", "reference", "exact", "error"),
    [("", "", 100, 0), ("a b", "", 0, 200), ("", "a b", 0, 100), ("a b c d", "a", 0, 300)],
)
def test_empty_lines_have_scores(output: str, reference: str, exact: int, error: int) -> None:
    scores = score([output], [reference], text_metrics=False)

    assert scores["exact_match"] == exact
    assert scores["token_error"] == error


def test_composition_and_spacing_make_no_difference() -> None:
    scores = score(["caf\u00e9 noir"], [" cafe\u0301\u00a0 noir"], text_metrics=False)

    assert scores["exact_match"] == 100
    assert scores["char_error"] == 0


def test_text_metrics_are_those_of_sacrebleu(capfd: pytest.CaptureFixture[str]) -> None:
    from sacrebleu import corpus_bleu, corpus_chrf

    outputs = ["the cat sat on the mat .", "a dog barked .", "it rains"] * 50
    references = ["the cat sat on a mat .", "the dog barked loudly .", "it rains"] * 50

    scores = score(outputs, references, text_metrics=True)

    assert scores["bleu"] == corpus_bleu(outputs, [references], force=True).score
    assert scores["chrf"] == corpus_chrf(outputs, [references]).score
    assert capfd.readouterr() == ("", "")


def test_signatures_name_what_was_computed() -> None:
    found = signatures()

    assert set(found) == {"bleu", "chrf"}
    assert all("nrefs:1|" in signature for signature in found.values())
    assert all("version:" in signature for signature in found.values())


def test_no_lines_have_no_score() -> None:
    with pytest.raises(DataError):
        score([], [], text_metrics=False)


def test_outputs_without_references_are_a_broken_promise() -> None:
    with pytest.raises(RuntimeError):
        score(["a"], [], text_metrics=False)


def test_a_missing_sacrebleu_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu", None)

    with pytest.raises(ModuleNotFoundError):
        score(["a"], ["a"], text_metrics=True)
    assert score(["a"], ["a"], text_metrics=False)["exact_match"] == 100
