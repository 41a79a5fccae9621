"""A few of the random blueprints that the benchmark `fuzz_blueprints` checks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, get_args, get_origin

import pytest

from benchmarks.fuzz.drawn import Drawn, draw_blueprint
from benchmarks.fuzz.exported import check_export
from benchmarks.fuzz.invariants import check_invariants
from benchmarks.fuzz.pairs import FEW_LAYERS, pairwise
from builder.blueprint import model
from builder.blueprint.section import Section

COUNT, EXPORTED = 24, 6
Choice = tuple[str, str, object]
"""A section, a key, and a value of which there are few."""


@pytest.fixture(scope="session")
def exported_seeds() -> tuple[int, ...]:
    """Seeds that cover many pairs of choices."""
    return pairwise(EXPORTED).seeds


def test_every_choice_is_drawn() -> None:
    """What the language gains has to be drawn too, for the few that are checked here."""
    drawn = [draw_blueprint(seed).blueprint.model for seed in range(COUNT)]

    found = {choice for each in drawn for choice in choices_in(each)}
    assert set(all_choices()) <= found


def all_choices() -> Iterator[Choice]:
    """Every word and truth value that a section of `model` may hold."""
    for section in vars(model).values():
        if not isinstance(section, type) or not issubclass(section, Section):
            continue
        if section in (model.Stack, model.WrittenModel):
            continue  # what is resolved is of a narrower class
        for key, info in section.model_fields.items():
            for value in few(info.annotation):
                yield section.__name__, key, value


def few(annotation: object) -> tuple[object, ...]:
    """The values of a type that has few, else none."""
    if annotation is bool:
        return True, False
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def choices_in(section: Section) -> Iterator[Choice]:
    """Those that a section and the sections in it hold."""
    for key in type(section).model_fields:
        held = getattr(section, key)
        for value in held if isinstance(held, tuple) else (held,):
            if isinstance(value, Section):
                yield from choices_in(value)
            elif isinstance(value, str | bool):
                yield type(section).__name__, key, value


@pytest.mark.parametrize("seed", range(COUNT))
def test_what_must_hold_of_every_network_holds(seed: int) -> None:
    drawn = draw_blueprint(seed)

    with shown(drawn):
        check_invariants(drawn.blueprint, seed)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(EXPORTED))
def test_the_exported_graph_writes_what_the_network_writes(
    number: int, exported_seeds: tuple[int, ...]
) -> None:
    drawn = draw_blueprint(exported_seeds[number], deepest=FEW_LAYERS)

    with shown(drawn):
        proof = check_export(drawn.blueprint, drawn.seed)
        assert proof.equal == proof.lines


@contextmanager
def shown(drawn: Drawn) -> Iterator[None]:
    """Show the seed and the blueprint of what fails."""
    try:
        yield
    except Exception as error:
        error.add_note(f"seed {drawn.seed}\n{drawn.text}")
        raise
