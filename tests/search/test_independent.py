from __future__ import annotations

import pytest
import torch
from torch import Tensor

from builder.search import independent
from builder.search.found import BOS_ID, EOS_ID, PAD_ID, Found, collect
from builder.search.independent import State

VOCABULARY = 9


class Script:
    """Random logits whose likeliest token at each step is the scripted one, for each hypothesis."""

    def __init__(self, *rows: list[list[int]]) -> None:
        self.rows = rows
        self.calls = 0
        self.log_probs: list[Tensor] = []
        self.read: list[list[list[int]]] = []

    def __call__(self, state: State) -> Tensor:
        assert state.position.item() == self.calls
        logits = torch.randn(len(self.rows), len(self.rows[0]), VOCABULARY)
        logits[..., [PAD_ID, BOS_ID]] = float("-inf")
        for row, hypotheses in enumerate(self.rows):
            for place, tokens in enumerate(hypotheses):
                if self.calls < len(tokens):
                    logits[row, place, tokens[self.calls]] = 5.0
                else:
                    logits[row, place] = float("nan")  # nobody may look at what follows the end
        self.calls += 1
        self.read.append(state.last.tolist())
        self.log_probs.append(logits.log_softmax(-1))
        return logits

    def scores(self) -> Tensor:
        """The sum of the log-probabilities of what is scripted."""
        sums = [
            [
                sum(self.log_probs[step][row, place, token] for step, token in enumerate(tokens))
                for place, tokens in enumerate(hypotheses)
            ]
            for row, hypotheses in enumerate(self.rows)
        ]
        return torch.tensor(sums)


def search(script: Script, limits: list[int]) -> Found:
    """Write the likeliest tokens; several hypotheses of a row have places."""
    beams, most = len(script.rows[0]), torch.tensor(limits)
    state = independent.start(most, torch.arange(beams) if beams > 1 else None)
    while state.alive.any():
        choice, log_probs = independent.likeliest(script(state), None)
        state = independent.advance(state, choice, log_probs, most)
    return independent.finish(state)


def test_a_row_that_ended_shows_nothing_more_and_the_loop_stops_with_the_last() -> None:
    early, late = [7, EOS_ID], [3, 4, 5, 6, 7, 8, 3, 4, EOS_ID]
    script = Script([early], [late])

    found = search(script, [50, 50])

    assert script.calls == 9
    assert found.target_ids.tolist() == [[early + [PAD_ID] * 7], [late]]
    assert found.lengths.tolist() == [[2], [9]]
    assert found.ended.tolist() == [[True], [True]]
    torch.testing.assert_close(found.scores, script.scores())


def test_every_step_reads_what_the_last_one_wrote_and_padding_after_the_end() -> None:
    script = Script([[7, EOS_ID]], [[3, 4, 5, EOS_ID]])

    search(script, [9, 9])

    assert script.read == [[[BOS_ID], [BOS_ID]], [[7], [3]], [[EOS_ID], [4]], [[PAD_ID], [5]]]


def test_a_row_at_its_limit_is_cut_off_and_others_go_on() -> None:
    script = Script([[3, 4]], [[5, 6, 7, EOS_ID]], [[8]], [[3, 4, EOS_ID]])

    found = search(script, [2, 9, 1, 3])

    assert found.target_ids.tolist() == [
        [[3, 4, 0, 0]],
        [[5, 6, 7, 2]],
        [[8, 0, 0, 0]],
        [[3, 4, 2, 0]],
    ]
    assert found.lengths.tolist() == [[2], [4], [1], [3]]
    assert found.ended.tolist() == [[False], [True], [False], [True]]
    torch.testing.assert_close(found.scores, script.scores())


def test_hypotheses_of_one_row_end_each_at_its_own_time() -> None:
    rows = [[[3, EOS_ID], [4, 5, 6], [EOS_ID]], [[6, 7, 8, EOS_ID], [5, EOS_ID], [8, 3, 4, 5]]]
    script = Script(*rows)

    found = search(script, [3, 4])

    assert script.calls == 4
    assert found.target_ids.tolist() == [
        [ids + [PAD_ID] * (4 - len(ids)) for ids in row] for row in rows
    ]
    assert found.lengths.tolist() == [[2, 3, 1], [4, 2, 4]]
    assert found.ended.tolist() == [[True, False, True], [True, True, False]]
    torch.testing.assert_close(found.scores, script.scores())


def test_a_row_is_alive_while_any_of_its_hypotheses_goes_on() -> None:
    limits = torch.tensor([5, 2, 1])
    state = independent.start(limits, torch.arange(2))
    alive = [state.alive.tolist()]
    for choice in ([[EOS_ID, 3], [EOS_ID, EOS_ID], [4, 5]], [[3, 4]] * 3, [[3, EOS_ID]] * 3):
        state = independent.advance(state, torch.tensor(choice), torch.zeros(3, 2), limits)
        alive.append(state.alive.tolist())

    assert alive == [
        [True, True, True],
        [True, False, False],
        [True, False, False],
        [False, False, False],
    ]


def test_each_hypothesis_owns_the_slots_that_it_filled() -> None:
    state = independent.start(torch.tensor([4, 4]), torch.arange(3))
    assert state.ancestors is not None
    assert state.ancestors.shape == (2, 3, 0)

    for _ in range(2):
        nothing = torch.zeros(2, 3)
        state = independent.advance(state, nothing.long() + 5, nothing, torch.tensor([4, 4]))

    assert state.ancestors is not None
    assert torch.equal(
        state.ancestors, torch.eye(3, dtype=torch.bool).repeat(2, 1, 2).view(2, 3, 6)
    )
    assert independent.start(torch.tensor([4])).ancestors is None


def test_the_outputs_have_the_types_of_the_package() -> None:
    found = search(Script([[EOS_ID]]), [4])

    assert [value.dtype for value in found] == [
        torch.int64,
        torch.float32,
        torch.int64,
        torch.bool,
    ]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_log_probabilities_are_only_rounded_from_float32(dtype: torch.dtype) -> None:
    logits = (torch.randn(3, 1, 64) * 3 + 20).to(dtype)

    _, log_probs = independent.likeliest(logits, None)

    expected = logits.double().log_softmax(-1).amax(-1).float()
    torch.testing.assert_close(log_probs, expected, rtol=1e-5, atol=1e-5)


def test_of_equal_tokens_the_first_is_taken() -> None:
    """As ONNX does."""
    logits = torch.full((1, 1, VOCABULARY), -1.0)
    logits[..., [4, 6, 8]] = 3.0

    choice, _ = independent.likeliest(logits, None)

    assert choice.tolist() == [[4]]


def test_what_is_barred_is_not_taken_and_changes_no_probability() -> None:
    logits = torch.tensor([[[-1.0, -1.0, 2.0, 4.0, 3.0]]])
    barred = torch.tensor([[[False, False, False, True, False]]])

    choice, log_probs = independent.likeliest(logits, barred)

    assert choice.tolist() == [[4]]
    torch.testing.assert_close(log_probs, logits.log_softmax(-1)[..., 4])


def some_found(rows: int, time: int, fill: int) -> Found:
    return Found(
        torch.full((rows, 2, time), fill),
        torch.full((rows, 2), float(fill)),
        torch.full((rows, 2), time),
        torch.full((rows, 2), fill % 2 == 0),
    )


def test_what_rows_come_to_later_is_written_to_their_places() -> None:
    found = some_found(4, 0, 0)

    found = collect(found, torch.tensor([0, 1, 2, 3]), some_found(4, 2, 5))
    found = collect(found, torch.tensor([3, 1]), some_found(2, 4, 6))

    assert found.target_ids[:, 0].tolist() == [
        [5, 5, 0, 0],
        [6, 6, 6, 6],
        [5, 5, 0, 0],
        [6, 6, 6, 6],
    ]
    assert found.scores.tolist() == [[5, 5], [6, 6], [5, 5], [6, 6]]
    assert found.lengths.tolist() == [[2, 2], [4, 4], [2, 2], [4, 4]]
    assert found.ended.tolist() == [[False] * 2, [True] * 2, [False] * 2, [True] * 2]


def test_the_best_are_the_first() -> None:
    found = some_found(3, 2, 4).best(1)

    assert [tuple(part.shape) for part in found] == [(3, 1, 2), (3, 1), (3, 1), (3, 1)]
