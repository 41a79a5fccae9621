"""The gate of export: what it lets pass and what it stops, with a file that is made up."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from builder.errors import ProofFailure
from builder.export import proof as gate
from builder.export.compare import Hypothesis, Row, by_network
from builder.export.lines import Batch
from builder.export.proof import Proof, compare_outputs
from builder.export.side_data import Content
from builder.export.ties import NEAR_TIE, Referee
from builder.generate import Generator, as_tensors
from builder.search.sampling import perturbed, source_keys
from tests.export.conftest import generator_of

MakeRun = Callable[..., Path]
Change = Callable[[Row], Row]

STRATEGIES: dict[str, dict[str, Any]] = {
    "greedy": {"kind": "greedy"},
    "beam": {"kind": "beam", "beams": 3, "n_best": 2, "length_penalty": 1.0},
    "sampling": {"kind": "sampling", "n_best": 2, "top_p": 0.95},
}
SHORT = {"max_length": {"ratio": 0, "plus": 8}}
A, B = 6, 7
"""Two tokens that are made alike."""


@pytest.fixture(scope="module")
def generators(make_run: MakeRun) -> dict[str, Generator]:
    return {
        kind: generator_of(make_run(generation={**section, **SHORT}))
        for kind, section in STRATEGIES.items()
    }


SOURCES = [
    torch.tensor([[5, 4, 8, 2], [4, 2, 0, 0], [9, 6, 2, 0]]),
    torch.tensor([[2], [7], [8]]),
    torch.tensor([[6, 7, 4, 5, 6, 9, 2]]),
]
BATCHES = [Batch(source_ids, {"max_length": 7}) for source_ids in SOURCES]
LINES = sum(map(len, SOURCES))


def compare(generator: Generator, change: Change, monkeypatch: pytest.MonkeyPatch) -> Proof:
    """Compare with a file that does what the network does, but for `change` on the first line."""

    def by_file(_engine: object, _options: object, batch: Batch) -> list[Row]:
        first, *others = by_network(generator, batch)
        return [change(first) if batch.source_ids is SOURCES[0] else first, *others]

    monkeypatch.setattr(Content, "open", lambda _: None)
    monkeypatch.setattr(gate, "by_file", by_file)
    return compare_outputs(generator, Content(b""), BATCHES)


def changed(row: Row, **parts: Any) -> Row:
    return [row[0]._replace(**parts), *row[1:]]


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 1.0])
def test_what_is_no_number_equals_nothing(wrong: float) -> None:
    expected = np.array([[-np.inf, 2.0, -4.0]], np.float32)
    found = np.array([[wrong, 2.0, -4.0]], np.float32)

    assert gate.logits_apart(expected, expected) == 0
    assert gate.logits_apart(found, expected) == np.inf
    assert gate.logits_apart(np.full_like(found, np.nan), np.full_like(found, np.nan)) == np.inf


WRONG: dict[str, Change] = {
    "another token": lambda row: changed(row, ids=[*row[0].ids[:-1], 3 + row[0].ids[-1] % 5]),
    "a token less": lambda row: changed(row, ids=row[0].ids[:-1] or [3]),
    "another end": lambda row: changed(row, ended=not row[0].ended),
    "an output less": lambda row: row[1:],
    "an output more": lambda row: [*row, Hypothesis([5, 2], -9.0, ended=True)],
}


@pytest.mark.parametrize("kind", STRATEGIES)
def test_a_file_that_does_the_same_passes(
    generators: dict[str, Generator], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof = compare(generators[kind], lambda row: row, monkeypatch)

    proof.verdict()
    assert proof.equal == proof.lines == LINES


@pytest.mark.parametrize("kind", STRATEGIES)
@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_one_wrong_line_is_caught(
    generators: dict[str, Generator], kind: str, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof = compare(generators[kind], change, monkeypatch)

    assert proof.equal == LINES - 1
    with pytest.raises(ProofFailure, match=rf"on 1 of {LINES} lines"):
        proof.verdict()


@pytest.mark.parametrize("kind", STRATEGIES)
def test_a_wrong_score_is_caught(
    generators: dict[str, Generator], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def close(row: Row) -> Row:
        return changed(row, score=row[0].score * (1 + 2e-5))

    def off(row: Row) -> Row:
        return [*row[:-1], row[-1]._replace(score=row[-1].score - 0.01 - abs(row[-1].score) / 99)]

    compare(generators[kind], close, monkeypatch).verdict()
    with pytest.raises(ProofFailure, match="scores differ"):
        compare(generators[kind], off, monkeypatch).verdict()


def test_beams_in_another_order_are_caught(
    generators: dict[str, Generator], monkeypatch: pytest.MonkeyPatch
) -> None:
    proof = compare(generators["beam"], lambda row: row[::-1], monkeypatch)

    with pytest.raises(ProofFailure):
        proof.verdict()


@pytest.mark.parametrize(
    ("lines", "equal", "near_ties", "passes"),
    [
        (100, 100, 0, True),
        (100, 99, 1, True),
        (100, 98, 2, False),
        (1000, 995, 5, True),
        (1000, 994, 6, False),
        (1000, 999, 0, False),
    ],
)
def test_few_near_ties_and_no_other_difference_are_let_pass(
    lines: int, equal: int, near_ties: int, *, passes: bool
) -> None:
    proof = Proof(lines=lines, equal=equal, near_ties=near_ties)

    if passes:
        proof.verdict()
    else:
        with pytest.raises(ProofFailure):
            proof.verdict()


def with_alike(generator: Generator, gap: float) -> Generator:
    """Give A and B the same logits but for `gap`, by which B is above A."""
    model = copy.deepcopy(generator.decoding.model)
    with torch.no_grad():
        model.output[B] = model.output[A]
        model.output_bias[[A, B]] = torch.tensor([3.0, 3.0 + gap])
    return generator.with_model(model)


@pytest.mark.parametrize("kind", ["greedy", "beam"])
@pytest.mark.parametrize("gap", [NEAR_TIE / 50, NEAR_TIE * 50])
def test_only_candidates_that_are_about_as_good_may_change_places(
    generators: dict[str, Generator], kind: str, gap: float
) -> None:
    """The file finds A a little better, PyTorch B."""
    ours, theirs = with_alike(generators[kind], -gap), with_alike(generators[kind], gap)
    batch = BATCHES[0]
    left, right = by_network(ours, batch), by_network(theirs, batch)
    assert all(one[0].ids != other[0].ids for one, other in zip(left, right, strict=True))

    for row in range(3):
        found = Referee(theirs).is_near_tie(
            batch, row, lambda b: by_network(ours, b), lambda b: by_network(theirs, b)
        )
        assert found == (gap < NEAR_TIE)


@pytest.mark.parametrize("gap", [NEAR_TIE / 50, NEAR_TIE * 50])
@torch.no_grad()
def test_only_draws_that_are_about_as_good_may_change_places(
    generators: dict[str, Generator], gap: float
) -> None:
    """The second best of a first token is lifted to just above the best, and just below it."""
    generator = generators["sampling"]
    source = SOURCES[0][:1]
    batch = Batch(source, {"max_length": 5, "top_p": 1.0})
    options, _ = as_tensors({**generator.options, **batch.asked}, None, source.device)
    logits = generator.decoding.model(source, torch.tensor([[1]]))
    values = perturbed(logits.log_softmax(-1), source_keys(source), torch.tensor(0), options)[0, 0]
    (best, second), (first, other) = (part.tolist() for part in values.topk(2))

    def lifted(by: float) -> Generator:
        model = copy.deepcopy(generator.decoding.model)
        model.output_bias[int(other)] += best - second + by
        return generator.with_model(model)

    ours, theirs = lifted(gap), lifted(-gap)
    assert by_network(ours, batch)[0][0].ids[0] == other
    assert by_network(theirs, batch)[0][0].ids[0] == first
    found = Referee(theirs).is_near_tie(
        batch, 0, lambda b: by_network(ours, b), lambda b: by_network(theirs, b)
    )
    assert found == (gap < NEAR_TIE)


@pytest.mark.parametrize("kind", STRATEGIES)
def test_what_parts_at_no_step_is_no_tie(generators: dict[str, Generator], kind: str) -> None:
    """Such as another end of the same tokens."""
    generator = generators[kind]

    def run(batch: Batch) -> list[Row]:
        return by_network(generator, batch)

    assert not Referee(generator).is_near_tie(BATCHES[0], 0, run, run)
