"""Every strategy with every rule, on a network that is a table of numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Literal

import pytest
import torch
from torch import Tensor

from builder.search import beam, independent
from builder.search.constraints import Rules
from builder.search.found import BOS_ID, EOS_ID, PAD_ID, Found
from builder.search.limits import LengthRule
from builder.search.options import Options
from builder.search.search import Rows, Search, State

Kind = Literal["greedy", "sampling", "beam"]
KINDS: list[Kind] = ["greedy", "sampling", "beam"]
SOURCES = torch.tensor([[5, 4, 6, 3, 5, EOS_ID], [3, EOS_ID, 0, 0, 0, 0], [6, 6, 4, EOS_ID, 0, 0]])
HYPOTHESES = 4

every_kind = pytest.mark.parametrize("kind", KINDS)


class Bigrams:
    """Logits that depend on the last token alone, and on the row."""

    def __init__(self, vocab: int, seed: int = 0, end: float = 0.0) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.table = torch.randn(len(SOURCES), vocab, vocab, generator=generator) * 2
        self.table[..., [PAD_ID, BOS_ID]] = -math.inf
        self.table[..., EOS_ID] += end

    def __call__(self, state: State) -> Tensor:
        return self.table[torch.arange(len(self.table))[:, None], state.last]

    def log_prob(self, row: int, ids: list[int]) -> float:
        log_probs = self.table[row].log_softmax(-1)
        return sum(log_probs[last, token].item() for last, token in pairwise([BOS_ID, *ids]))


def options(kind: Kind, **given: float | Tensor) -> Options:
    beams = {"min_length": 1, "length_penalty": 0.6} if kind == "beam" else {}
    there = {"max_length": 99, **beams, **given}
    return Options(**{name: torch.as_tensor(value) for name, value in there.items()})


def run(
    network: Bigrams,
    kind: Kind,
    *,
    rules: Rules | None = None,
    plus: int = 6,
    given: Options | None = None,
) -> Found:
    search = Search(kind, LengthRule(Fraction(1), plus, None), rules or Rules())
    given = given or options(kind)
    places = None if kind == "greedy" else torch.arange(HYPOTHESES)
    rows, state = search.begin(SOURCES, given, places)
    while state.alive.any():
        state = search.advance(state, network(state), rows, given)
    return search.finish(state)


def outputs(found: Found) -> list[list[tuple[list[int], float, bool]]]:
    """The ids, the score and the end of every output that there is, row by row."""
    return [
        [
            (ids[:length], score, ended)
            for ids, score, length, ended in zip(*row, strict=True)
            if length
        ]
        for row in zip(*(part.tolist() for part in found), strict=True)
    ]


def every_output(found: Found) -> list[tuple[list[int], float, bool]]:
    return [one for row in outputs(found) for one in row]


@every_kind
def test_scores_are_sums_of_the_models_own_log_probabilities(kind: Kind) -> None:
    """Whatever is barred or drawn: only beams divide them by a length."""
    network = Bigrams(8)
    rules = Rules(no_repeat_ngram_size=2, suppress=(4,))

    found = run(network, kind, rules=rules)

    assert len(every_output(found)) >= 3
    for row, several in enumerate(outputs(found)):
        for ids, score, _ in several:
            norm = ((5 + len(ids)) / 6) ** 0.6 if kind == "beam" else 1.0
            assert score == pytest.approx(network.log_prob(row, ids) / norm, rel=1e-5)


@every_kind
def test_each_row_has_its_own_limit_and_says_where_it_cut(kind: Kind) -> None:
    found = run(Bigrams(8, end=-9.0), kind, plus=2)

    for limit, several in zip((8, 4, 6), outputs(found), strict=True):
        assert all(len(ids) <= limit for ids, _, _ in several)
        assert all(len(ids) == limit for ids, _, ended in several if not ended)
        assert all((ids[-1] == EOS_ID) == ended for ids, _, ended in several)
        assert all(EOS_ID not in ids[:-1] for ids, _, _ in several)
    assert not all(ended for _, _, ended in every_output(found))


@every_kind
def test_no_ngram_is_written_twice(kind: Kind) -> None:
    for size in (1, 2, 3):
        for seed in range(4):
            found = run(
                Bigrams(7, seed, end=-4.0), kind, rules=Rules(no_repeat_ngram_size=size), plus=20
            )
            for ids, _, _ in every_output(found):
                written = ids[:-1] if ids[-1] == EOS_ID else ids
                grams = [tuple(written[i : i + size]) for i in range(len(written) - size + 1)]
                assert len(set(grams)) == len(grams)
    without = run(Bigrams(7, 0, end=-4.0), kind, plus=20)
    assert any(len(set(pairwise(ids))) < len(ids) - 1 for ids, _, _ in every_output(without))


@every_kind
def test_where_every_bigram_is_used_up_an_output_ends(kind: Kind) -> None:
    """With 3 tokens and EOS: EOS is never barred, so that there is always one to write."""
    rules = Rules(no_repeat_ngram_size=2)

    found = run(Bigrams(6, end=-30.0), kind, rules=rules, plus=60)

    assert all(several for several in outputs(found))
    for ids, _, ended in every_output(found):
        assert ended
        assert len(ids) <= 11  # 9 bigrams have 10 tokens, and EOS


@every_kind
def test_what_is_suppressed_is_never_written(kind: Kind) -> None:
    network = Bigrams(8)
    often = {token for ids, _, _ in every_output(run(network, kind)) for token in ids} - {EOS_ID}
    assert len(often) > 1

    for token in often:
        found = run(network, kind, rules=Rules(suppress=(token, 3)))
        assert all({token, 3}.isdisjoint(ids) for ids, _, _ in every_output(found))


@every_kind
def test_no_output_ends_before_its_least_length_but_at_its_limit(kind: Kind) -> None:
    network = Bigrams(8, end=4.0)

    found = run(network, kind, given=options(kind, min_length=5, max_length=6))

    assert all(len(ids) >= 5 for ids, _, _ in every_output(found))
    assert any(len(ids) < 5 for ids, _, _ in every_output(run(network, kind)))
    cut = run(network, kind, given=options(kind, min_length=5, max_length=3))
    assert all((len(ids), ended) == (3, False) for ids, _, ended in every_output(cut))


@every_kind
def test_every_output_begins_as_its_row_is_asked_to(kind: Kind) -> None:
    network = Bigrams(8)
    beginnings = torch.tensor([[5, 5, 4], [6, -1, 7], [-1, -1, -1]])
    rules = Rules(no_repeat_ngram_size=1, suppress=(4, 6))
    given = options(kind, target_prefix=beginnings, min_length=2)

    found = run(network, kind, rules=rules, given=given)

    first, second, third = outputs(found)
    assert all(ids[:3] == [5, 5, 4] and len(ids) > 3 for ids, _, _ in first)
    assert all(
        ids[0] == 6 and (len(ids) < 3 or ids[1] == EOS_ID or ids[2] == 7) for ids, _, _ in second
    )
    free = run(network, kind, rules=rules, given=options(kind, min_length=2))
    assert third == outputs(free)[2]
    for row, several in enumerate(outputs(found)):
        for ids, score, _ in several:
            norm = ((5 + len(ids)) / 6) ** 0.6 if kind == "beam" else 1.0
            assert score == pytest.approx(network.log_prob(row, ids) / norm, rel=1e-5)


@every_kind
def test_a_beginning_that_asks_for_eos_is_all_there_is(kind: Kind) -> None:
    given = options(kind, target_prefix=torch.tensor([[5, EOS_ID]] * 3))

    found = run(Bigrams(8), kind, given=given)

    assert all(one[0][0] == [5, EOS_ID] and one[0][2] for one in outputs(found))


@every_kind
def test_a_beginning_longer_than_the_limit_is_cut_off(kind: Kind) -> None:
    given = options(kind, target_prefix=torch.tensor([[5, 6, 7, 5]] * 3), max_length=2)

    found = run(Bigrams(8), kind, given=given)

    assert all(several[0][0] == [5, 6] and not several[0][2] for several in outputs(found))


@pytest.mark.parametrize("seed", range(5))
def test_one_beam_and_the_likeliest_one_of_draws_are_greedy(seed: int) -> None:
    network = Bigrams(9, seed)
    search = {
        kind: Search(kind, LengthRule(Fraction(1), 9, None), Rules(no_repeat_ngram_size=3))
        for kind in KINDS
    }
    given = {"greedy": {}, "sampling": {"top_k": 1, "seed": seed}, "beam": {"length_penalty": 0.0}}
    written = {}
    for kind in KINDS:
        asked = options(kind, **given[kind])  # type: ignore[arg-type]
        places = None if kind == "greedy" else torch.arange(1)
        rows, state = search[kind].begin(SOURCES, asked, places)
        while state.alive.any():
            state = search[kind].advance(state, network(state), rows, asked)
        written[kind] = search[kind].finish(state)

    for kind in ("sampling", "beam"):
        for ours, greedy in zip(written[kind], written["greedy"], strict=True):
            torch.testing.assert_close(ours.to(greedy.dtype), greedy)


def test_draws_depend_on_the_seed_and_on_the_source_alone() -> None:
    def draws(seed: int) -> list[list[tuple[list[int], float, bool]]]:
        return outputs(run(Bigrams(8), "sampling", given=options("sampling", seed=seed)))

    assert draws(5) == draws(5) != draws(6)
    assert all(len({tuple(ids) for ids, _, _ in row}) > 1 for row in draws(5))


@pytest.mark.parametrize("kind", ["beam", "sampling"])
def test_several_hypotheses_need_their_number(kind: Kind) -> None:
    with pytest.raises(RuntimeError, match="number"):
        Search(kind, LengthRule(Fraction(1), 6, None)).begin(SOURCES, options(kind))


def test_only_draws_know_their_sources() -> None:
    begun: dict[str, tuple[Rows, State]] = {
        kind: Search(kind, LengthRule(Fraction(1), 6, 9)).begin(
            SOURCES, options(kind), torch.arange(HYPOTHESES)
        )
        for kind in KINDS
    }

    assert {kind: rows.keys is not None for kind, (rows, _) in begun.items()} == {
        "greedy": False,
        "sampling": True,
        "beam": False,
    }
    assert all(rows.limits.tolist() == [9, 8, 9] for rows, _ in begun.values())
    assert isinstance(begun["beam"][1], beam.State)
    assert isinstance(begun["greedy"][1], independent.State)
    assert begun["greedy"][1].last.shape == (3, 1)
    assert begun["sampling"][1].last.shape == (3, HYPOTHESES)
