from __future__ import annotations

import math
from itertools import product
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from builder.search import beam
from builder.search.beam import State
from builder.search.found import BOS_ID, EOS_ID, PAD_ID, Found
from builder.search.options import Options

Table = dict[tuple[int, ...], dict[int, float]]
"""The log-probability of each next token, by the tokens before it."""


class Hypothesis(NamedTuple):
    score: float
    tokens: tuple[int, ...]
    ended: bool


def random_table(seed: int, vocab: int, depth: int, temperature: float) -> Table:
    """A model that remembers all that was written, with every text of up to `depth` tokens."""
    generator = torch.Generator().manual_seed(seed)
    words = [token for token in range(vocab) if token not in (PAD_ID, BOS_ID)]
    table: Table = {}
    for length in range(depth):
        for text in product([word for word in words if word != EOS_ID], repeat=length):
            logits = torch.randn(vocab, generator=generator, dtype=torch.float64) * temperature
            logits[[PAD_ID, BOS_ID]] = -math.inf
            table[text] = dict(enumerate(logits.log_softmax(0).tolist()))
    return table


def reference(
    table: Table, limit: int, *, beams: int, min_length: int, length_penalty: float
) -> list[Hypothesis]:
    """The search as DESIGN tells it, on plain lists, for one row."""
    live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    finished: list[Hypothesis] = []
    for length in range(1, limit + 1):
        norm = ((5 + length) / 6) ** length_penalty
        grown = [
            (score + log_prob, (*text, token))
            for score, text in live
            for token, log_prob in table[text].items()
            if log_prob > -math.inf and not (token == EOS_ID and length < min_length)
        ]
        grown = sorted(grown, key=lambda one: -one[0])[: 2 * beams]
        finished += [
            Hypothesis(score / norm, text, ended=True)
            for score, text in grown[:beams]
            if text[-1] == EOS_ID
        ]
        live = [one for one in grown if one[1][-1] != EOS_ID][:beams]
        if len(finished) >= beams:
            break
    else:
        finished += [Hypothesis(score / norm, text, ended=False) for score, text in live]
    return sorted(finished, key=lambda one: -one.score)[:beams]


class Stepper:
    """Logits of what a state has written, which is read from the slots of its ancestors."""

    def __init__(self, tables: list[Table], vocab: int) -> None:
        self.tables = tables
        self.vocab = vocab
        self.slots: list[list[int]] = [[] for _ in tables]

    def __call__(self, state: State) -> Tensor:
        batch, beams = state.last.shape
        logits = torch.randn(batch, beams, self.vocab, dtype=torch.float64)
        logits[..., [PAD_ID, BOS_ID]] = -math.inf
        for row in range(batch):
            for place in range(beams):
                if state.scores[row, place] == -math.inf:
                    assert state.last[row, place] == (PAD_ID if state.position else BOS_ID)
                    continue
                text = self._text(state, row, place)
                known = self.tables[row][text]
                logits[row, place] = torch.tensor(list(known.values()), dtype=torch.float64)
            self.slots[row] += state.last[row].tolist()
        return logits + 3.0  # not normalised, as those of a network

    def _text(self, state: State, row: int, place: int) -> tuple[int, ...]:
        own = state.ancestors[row, place].nonzero().flatten().tolist()
        beams = state.last.shape[1]
        assert [slot // beams for slot in own] == list(range(int(state.position)))
        bos, *text = [*(self.slots[row][slot] for slot in own), int(state.last[row, place])]
        assert bos == BOS_ID
        assert text == state.tokens[row, place].tolist()
        return tuple(text)


def search(step: Stepper, limits: list[int], given: Options, *, beams: int) -> Found:
    most = torch.tensor(limits)
    state = beam.start(most, torch.arange(beams), torch.float64)
    while state.alive.any():
        state = beam.advance(state, step(state), most, given)
        assert (state.scores[~state.alive] == -math.inf).all()
    return beam.finish(state)


def options(min_length: int = 1, length_penalty: float = 0.6) -> Options:
    return Options(
        max_length=torch.tensor(99),
        min_length=torch.tensor(min_length),
        length_penalty=torch.tensor(length_penalty, dtype=torch.float64),
    )


def hypotheses(found: Found, row: int) -> list[Hypothesis]:
    return [
        Hypothesis(score, tuple(ids[:length]), ended)
        for ids, score, length, ended in zip(*(part[row].tolist() for part in found), strict=True)
        if length
    ]


CASES = [
    # vocabulary, beams, n_best, min_length, length_penalty
    (5, 1, 1, 1, 0.6),
    (5, 4, 4, 1, 0.6),
    (5, 8, 3, 1, 1.0),
    (6, 3, 3, 3, 0.0),
    (7, 2, 1, 1, 2.0),
    (7, 5, 5, 4, 0.6),
    (6, 30, 30, 1, 0.6),
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_a_search_on_plain_lists(
    case: tuple[int, int, int, int, float], seed: int
) -> None:
    vocab, beams, n_best, min_length, length_penalty = case
    limits = [5, 1, 3, 2, 4, 5]
    tables = [
        random_table(seed * 100 + row, vocab, 5, temperature=0.5 + row / 2) for row in range(6)
    ]

    found = search(
        Stepper(tables, vocab), limits, options(min_length, length_penalty), beams=beams
    ).best(n_best)

    for row, (table, limit) in enumerate(zip(tables, limits, strict=True)):
        expected = reference(
            table, limit, beams=beams, min_length=min_length, length_penalty=length_penalty
        )[:n_best]
        ours = hypotheses(found, row)
        assert [one.tokens for one in ours] == [one.tokens for one in expected]
        assert [one.ended for one in ours] == [one.ended for one in expected]
        assert [one.score for one in ours] == pytest.approx(
            [one.score for one in expected], abs=1e-6
        )
        assert all(len(one.tokens) >= min_length for one in ours if one.ended)
        assert len({one.tokens for one in ours}) == len(ours)
        short = found.lengths[row] == 0
        assert (found.scores[row][short] == -math.inf).all()
        assert not found.ended[row][short].any()
        beyond = torch.arange(found.target_ids.shape[-1]) >= found.lengths[row][:, None]
        assert not found.target_ids[row][beyond].any()


def test_ended_cut_off_and_missing_hypotheses_all_occur() -> None:
    """What the comparison above compares."""
    found = [
        search(Stepper([random_table(seed, 5, 3, 2.0)], 5), [3], options(), beams=30)
        for seed in range(6)
    ]

    lengths, ended = (torch.cat([one[i].flatten() for one in found]) for i in (2, 3))
    assert ended.any()
    assert (~ended & (lengths > 0)).any()
    assert (lengths == 0).any()


@pytest.mark.parametrize(
    ("length_penalty", "best"), [(0.0, (3, 3, 3, EOS_ID)), (1.0, (4, 3, 3, 3, 3, EOS_ID))]
)
def test_the_penalty_weighs_length_as_documented(
    length_penalty: float, best: tuple[int, ...]
) -> None:
    """−4.0 with 4 tokens against −4.6 with 6: −2.667 and −2.509 with a penalty of 1."""
    state = beam.start(torch.tensor([9]), torch.arange(2), torch.float64)
    finished = Found(
        torch.tensor([[[3, 3, 3, EOS_ID, 0], [0, 0, 0, 0, 0]]]),
        torch.tensor([[-4.0 / ((5 + 4) / 6) ** length_penalty, -math.inf]], dtype=torch.float64),
        torch.tensor([[4, 0]]),
        torch.tensor([[True, False]]),
    )
    state = state._replace(
        position=torch.tensor(5),
        tokens=torch.tensor([[[4, 3, 3, 3, 3], [0, 0, 0, 0, 0]]]),
        finished=finished,
        ancestors=torch.zeros(1, 2, 10, dtype=torch.bool),
        scores=torch.tensor([[-4.5, -math.inf]], dtype=torch.float64),
    )
    log_probs = torch.full((1, 2, 6), -math.inf, dtype=torch.float64)
    log_probs[..., EOS_ID], log_probs[..., 5] = -0.1, math.log(1 - math.exp(-0.1))

    state = beam.advance(state, log_probs, torch.tensor([9]), options(1, length_penalty))

    assert hypotheses(state.finished, 0)[0].tokens == best
    expected = [-4.6 / (11 / 6) ** length_penalty, -4.0 / 1.5**length_penalty]
    assert state.finished.scores[0].tolist() == pytest.approx(sorted(expected, reverse=True))
    assert not state.alive


def test_a_row_that_ended_never_changes_and_is_not_looked_at() -> None:
    quick, slow = random_table(1, 6, 6, 0.2), random_table(2, 6, 6, 0.2)
    for text, row in quick.items():
        other = math.log((1 - 0.99) / (len(row) - 3))
        quick[text] = {
            token: -math.inf if token < EOS_ID else math.log(0.99) if token == EOS_ID else other
            for token in row
        }
    for text in slow:
        slow[text] = slow[text] | {EOS_ID: -math.inf}

    together = search(Stepper([quick, slow], 6), [6, 6], options(), beams=2)

    for row, table in enumerate((quick, slow)):
        one = search(Stepper([table], 6), [6], options(), beams=2)
        assert hypotheses(together, row) == hypotheses(one, 0)
    assert together.lengths[0].max() < together.lengths[1].min() == 6


def test_scores_never_rise_down_the_list() -> None:
    tables = [random_table(seed, 7, 4, 1.0) for seed in range(20)]

    found = search(Stepper(tables, 7), [4] * 20, options(), beams=5)

    assert (found.scores.diff(dim=1) <= 0).all()
    assert (found.lengths > 0).all()


def test_where_nothing_else_is_left_eos_ends_a_row_before_its_time() -> None:
    limits, given = torch.tensor([5, 5]), options(min_length=4)
    state = beam.start(limits, torch.arange(2), torch.float64)
    logits = torch.zeros(2, 2, 5, dtype=torch.float64)
    logits[..., [PAD_ID, BOS_ID]] = -math.inf
    barred = torch.zeros(2, 2, 5, dtype=torch.bool)
    barred[0, :, 3:] = True

    state = beam.advance(state, logits, limits, given, barred)

    assert state.alive.tolist() == [False, True]
    assert hypotheses(beam.finish(state), 0) == [
        Hypothesis(pytest.approx(-math.log(3)), (EOS_ID,), ended=True)  # type: ignore[arg-type]
    ]
    assert hypotheses(beam.finish(state), 1) == []


def test_what_is_barred_is_written_by_no_beam_and_changes_no_probability() -> None:
    limits = torch.tensor([3])
    state = beam.start(limits, torch.arange(3), torch.float64)
    logits = torch.tensor([-math.inf, -math.inf, 0.0, 3.0, 2.0, 1.0], dtype=torch.float64)
    barred = torch.zeros(1, 3, 6, dtype=torch.bool)
    barred[..., 3] = True

    state = beam.advance(state, logits.expand(1, 3, -1), limits, options(), barred)

    assert state.tokens[0, :2, 0].tolist() == [4, 5]
    torch.testing.assert_close(state.scores[0, :2], logits.log_softmax(0)[[4, 5]])
    assert state.scores[0, 2] == -math.inf
    assert hypotheses(beam.finish(state), 0)[0].tokens == (EOS_ID,)


def test_the_dead_name_no_place_of_their_own() -> None:
    """Engines differ in where they find them."""
    limits = torch.tensor([4])
    state = beam.start(limits, torch.arange(4), torch.float64)
    logits = torch.full((1, 4, 5), -math.inf, dtype=torch.float64)
    logits[..., 3], logits[..., 4] = 1.0, 0.0

    state = beam.advance(state, logits, limits, options())

    assert state.last.tolist() == state.tokens[..., 0].tolist() == [[3, 4, PAD_ID, PAD_ID]]
    assert state.ancestors.tolist() == [[[True, False, False, False]] * 4]


@pytest.mark.parametrize("missing", ["min_length", "length_penalty"])
def test_beams_need_their_options(missing: str) -> None:
    limits = torch.tensor([3])
    state = beam.start(limits, torch.arange(2), torch.float64)

    with pytest.raises(RuntimeError, match=missing):
        beam.advance(
            state,
            torch.zeros(1, 2, 5, dtype=torch.float64),
            limits,
            options()._replace(**{missing: None}),
        )
