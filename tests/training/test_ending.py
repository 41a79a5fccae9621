from __future__ import annotations

import pytest

from builder.blueprint.training import Training
from builder.training.ending import done, end
from builder.training.state import State


def training(**sections: object) -> Training:
    return Training.model_validate({"schedule": "noam"} | sections)


@pytest.mark.parametrize(
    ("state", "is_over"),
    [
        (State(step=6, elapsed_s=59), False),
        (State(step=7, elapsed_s=1), True),
        (State(step=1, elapsed_s=60), True),
        (State(step=1, waited=2), True),
        (State(step=1, waited=1), False),
    ],
)
def test_the_first_limit_ends(state: State, *, is_over: bool) -> None:
    limits = training(steps=7, minutes=1.0, validate={"patience": 2})

    assert (end(state, limits) is not None) is is_over


def test_one_of_each_is_in_the_singular() -> None:
    limits = training(steps=1, minutes=1.0, validate={"patience": 1})

    assert end(State(step=1), limits) == "1 update is done"
    assert end(State(elapsed_s=60), limits) == "1 minute is over"
    assert str(end(State(waited=1), limits)).endswith("1 validation")


def test_share_of_the_nearest_limit() -> None:
    assert done(State(step=5, elapsed_s=45), training(steps=10, minutes=1.0)) == 0.75
    assert done(State(step=9, elapsed_s=45), training(steps=10, minutes=1.0)) == 0.9
    assert done(State(step=11), training(steps=10)) == 1.0
