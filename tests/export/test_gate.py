"""Reduced precision has to earn its name: what fails, what goes back, what is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx_ir as ir
import pytest

from builder.errors import ProofFailure
from builder.export import gate
from builder.export.gate import Bound, Outcome, Verdict, agreement, has_collapsed
from builder.export.precision import Form
from builder.export.side_data import Content, Drafts, serialised
from tests.export import toy

IDS = np.random.default_rng(3).integers(0, toy.VOCAB, (64, 4))
FEEDS = [{"source_ids": IDS}]
EOS = 2
ROOM = Drafts(Path("toy.onnx"))

Rewrite = Callable[[list[list[int]]], list[list[int]]]


class Judge:
    """Scores a file by how many of its lines are those of the first file."""

    def __init__(self, rewrite: Rewrite = lambda outputs: outputs) -> None:
        self.asked = 0
        self._first: list[list[int]] = []
        self._rewrite = rewrite

    def __call__(self, file: Content) -> Outcome:
        engine = file.open()
        last = engine.run(["last"], FEEDS[0])[0]
        outputs = [[token, EOS] for token in last.tolist()]
        if self.asked:
            outputs = self._rewrite(outputs)
        self._first = self._first or outputs
        self.asked += 1
        same = sum(a == b for a, b in zip(outputs, self._first, strict=True))
        return Outcome(100 * same / len(outputs), outputs)


def narrow(
    graph: ir.Model,
    form: Form,
    *,
    judge: Judge,
    max_drop: float,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[ir.Model, Verdict]:
    """Narrow a graph as export does."""
    file, bound = Content(serialised(graph)), Bound(judge, FEEDS, max_drop)
    found, _, verdict = gate.narrow(file, form, bound=bound, room=ROOM, say=say)
    return found, verdict


def hostile() -> dict[str, np.ndarray]:
    """Weights of which one is lost in 8 bits, for numbers that are never used."""
    weights = toy.draw()
    weights["wide_bias"][0] = -100.0  # this unit is never active
    weights["out"][:, 0] = 400.0
    return weights


def test_what_costs_nothing_passes_at_once() -> None:
    graph, judge, said = toy.build(toy.draw()), Judge(), list[str]()

    found, verdict = narrow(graph, "uint8", judge=judge, max_drop=5.0, say=said.append)

    assert judge.asked == 2
    assert ir.to_proto(graph) == ir.to_proto(toy.build(toy.draw()))
    assert not toy.operators(found)["Gemm"]
    assert not verdict.report.kept
    assert verdict.float32_score == 100.0
    assert len(said) == 1


def test_the_most_damaged_goes_back_to_float32() -> None:
    judge, said = Judge(), list[str]()

    found, verdict = narrow(
        toy.build(hostile()), "uint8", judge=judge, max_drop=5.0, say=said.append
    )

    assert set(verdict.report.kept) == {"out"}
    assert judge.asked == len(said) + 1 == 3
    assert verdict.drop <= 5.0
    assert toy.operators(found)["Gemm"] == 1
    assert "float32: out" in said[-1]
    assert f"{verdict.report.kept_share:.1%}" in said[-1]


def test_what_never_passes_is_refused_with_its_numbers() -> None:
    judge, said = Judge(lambda outputs: [[7, EOS]] * len(outputs)), list[str]()

    with pytest.raises(ProofFailure) as raised:
        narrow(toy.build(toy.draw()), "int7", judge=judge, max_drop=0.5, say=said.append)

    message = str(raised.value)
    assert "int7" in message
    assert "0.5" in message
    assert "100.00" in message
    assert all(one.removeprefix("int7: ") in message for one in said)
    assert judge.asked == len(said) + 1 <= 6


def test_at_most_half_of_the_weights_go_back() -> None:
    judge, said = Judge(lambda outputs: [[7, EOS]] * len(outputs)), list[str]()

    with pytest.raises(ProofFailure, match=r"the file is not written"):
        narrow(toy.build(toy.draw()), "uint8", judge=judge, max_drop=0.0, say=said.append)

    shares = [float(one.split("; ")[-1].split("%")[0]) for one in said[1:]]
    assert 0 < max(shares) <= 50


def test_float16_passes_the_same_gate() -> None:
    found, verdict = narrow(toy.build(toy.draw()), "float16", judge=Judge(), max_drop=0.0)

    assert verdict.report.form == "float16"
    assert verdict.agreement == 1.0
    assert toy.operators(found)["Cast"] == 7


@pytest.mark.parametrize(
    "spoil",
    [
        lambda outputs: [[*ids[:-1], *[9] * 8, EOS] for ids in outputs[:5]] + outputs[5:],
        lambda outputs: [ids[:-1] for ids in outputs[:5]] + outputs[5:],
    ],
    ids=["circles", "no end"],
)
def test_a_collapse_is_refused_whatever_the_score(spoil: Rewrite) -> None:
    with pytest.raises(ProofFailure, match="5 of 64 lines repeat themselves or do not end"):
        narrow(toy.build(toy.draw()), "uint8", judge=Judge(spoil), max_drop=100.0)


def test_two_lines_alone_are_no_collapse() -> None:
    def spoil(outputs: list[list[int]]) -> list[list[int]]:
        return [ids[:-1] for ids in outputs[:2]] + outputs[2:]

    _, verdict = narrow(toy.build(toy.draw()), "uint8", judge=Judge(spoil), max_drop=100.0)

    assert verdict.collapsed == 2


def test_little_agreement_is_warned_of() -> None:
    said: list[str] = []

    def spoil(outputs: list[list[int]]) -> list[list[int]]:
        return [[11, EOS]] * 20 + outputs[20:]

    narrow(
        toy.build(toy.draw()),
        "uint8",
        judge=Judge(spoil),
        max_drop=100.0,
        say=said.append,
    )

    assert said[-1].startswith("warning")


@pytest.mark.parametrize(
    ("ids", "collapsed"),
    [
        ([], True),
        ([EOS], False),
        ([5, 6], True),
        ([5, 6, EOS], False),
        ([*[5] * 7, EOS], False),
        ([*[5] * 8, EOS], True),
        ([4, *[5, 6] * 4, EOS], True),
        ([*[5, 6] * 3, 5, EOS], False),
        ([*[5, 6, 7] * 3, 5, 6, EOS], False),
        ([*[5, 6, 7] * 4, EOS], True),
        ([*[5, 6, 7, 8] * 4, 9, EOS], True),
        ([*[5, 6, 7, 8, 9] * 4, EOS], False),
        ([*range(4, 30), EOS], False),
    ],
)
def test_circles_and_missing_ends(ids: list[int], collapsed: bool) -> None:
    assert has_collapsed(ids) == collapsed


@pytest.mark.parametrize(
    ("ours", "theirs", "share"),
    [
        ([[5, 6, 2]], [[5, 6, 2]], 1.0),
        ([[5, 7, 2], [8]], [[5, 6, 2], [8]], 0.75),
        ([[5, 6, 7, 2]], [[5, 6, 2]], 0.5),
        ([[5]], [[5, 6, 7, 2]], 0.25),
        ([[]], [[]], 1.0),
    ],
)
def test_agreement(
    ours: Sequence[Sequence[int]], theirs: Sequence[Sequence[int]], share: float
) -> None:
    assert agreement(ours, theirs) == share
