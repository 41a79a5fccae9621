"""The lines that a proof compares."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from builder.errors import RunError
from builder.export.lines import LONGEST, USUAL, own_batches, random_batches
from builder.run import Run
from builder.runtime.options import complete
from tests.export.conftest import generator_of

MakeRun = Callable[..., Path]


def learned(source: int, target: int) -> dict[str, object]:
    return {
        side: {"positions": {"kind": "learned", "max_length": count}}
        for side, count in (("encoder", source), ("decoder", target))
    }


@pytest.mark.parametrize(
    ("limits", "longest", "max_length"),
    [
        (None, USUAL, USUAL),
        ((2, 2), 2, 2),
        ((300, 40), 300, 40),
        ((LONGEST, LONGEST), LONGEST, LONGEST),
        ((4096, 100_000), USUAL, USUAL),
    ],
)
def test_random_lines_reach_limits_that_are_near(
    make_run: MakeRun, limits: tuple[int, int] | None, longest: int, max_length: int
) -> None:
    generator = generator_of(make_run(learned(*limits) if limits else {}, lively=False))

    batches = random_batches(generator)

    assert max(batch.source_ids.shape[1] for batch in batches) == longest
    assert {batch.asked["max_length"] for batch in batches} == {max_length, 1}
    rows = [row[row != 0].tolist() for batch in batches for row in batch.source_ids]
    assert all(row.index(2) == len(row) - 1 for row in rows)
    assert {1, 2, longest} <= set(map(len, rows))


STRATEGIES = {
    "greedy": {},
    "beam": {"beams": 3, "n_best": 2},
    "sampling": {"top_k": 5, "top_p": 0.9, "n_best": 2},
}


@pytest.mark.parametrize("kind", STRATEGIES)
def test_every_option_is_compared_at_another_value_too(make_run: MakeRun, kind: str) -> None:
    generator = generator_of(make_run(lively=False, generation={"kind": kind, **STRATEGIES[kind]}))

    batches = random_batches(generator)

    others = {name: value for batch in batches for name, value in batch.asked.items()}
    assert set(others) == set(generator.options)
    assert all(others[name] != value for name, value in generator.options.items())
    full = [batch for batch in batches if batch.asked["max_length"] > 1]
    assert [len(batch.source_ids) for batch in full][:4] == [5, 1, 1, 2]
    if kind == "beam":
        assert [batch.asked.get("n_best") for batch in full[:8]] == [None] * 4 + [3] * 4
    for batch in batches:
        assert batch.asked.get("n_best", 1) <= batch.asked.get("beams", 3)


@pytest.mark.parametrize(
    "generation",
    [
        {"kind": "beam", "beams": 1000, "n_best": 1000, "length_penalty": 10, "min_length": 5},
        {
            "kind": "sampling",
            "temperature": 1000,
            "top_k": 3,
            "top_p": 0.5,
            "seed": 2**31 - 1,
            "n_best": 1000,
        },
    ],
)
def test_options_at_their_ends_go_on_to_what_is_allowed(
    make_run: MakeRun, generation: dict[str, object]
) -> None:
    """What is asked is recorded in the file, which `verify` reads as it reads any call."""
    generator = generator_of(make_run(lively=False, generation=generation))

    batches = random_batches(generator)

    others = {
        name
        for batch in batches
        for name, value in batch.asked.items()
        if complete(generator.options, batch.asked) and value != generator.options[name]
    }
    assert others == set(generator.options) - {"beams"}


def test_beginnings_are_compared_where_the_search_takes_them(make_run: MakeRun) -> None:
    with_prefix = {"kind": "greedy", "target_prefix": True}
    generator = generator_of(make_run(lively=False, generation=with_prefix))

    *others, last = random_batches(generator)

    assert all(batch.prefix is None for batch in others)
    assert last.prefix is not None
    assert (last.prefix >= 3).any()
    assert (last.prefix == -1).any()
    assert len(last.prefix) == len(last.source_ids)
    free = others[0].beginnings(generator)
    assert free is not None
    assert free.tolist() == [[-1]] * len(others[0].source_ids)
    without = generator_of(make_run(lively=False))
    assert random_batches(without)[0].beginnings(without) is None


def write_proof(folder: Path, text: str | None) -> Run:
    path = folder / "proof.jsonl"
    path.unlink() if text is None else path.write_text(text, encoding="utf-8")
    return Run.open(folder)


def test_own_lines_may_hold_any_separator(make_run: MakeRun) -> None:
    lines = ["abc def", "ab\u2028c", "a\u2029b\x85c\x0c", "", "feed"]
    pairs = [json.dumps({"source": line, "target": ""}, ensure_ascii=False) for line in lines]
    run = write_proof(make_run(lively=False), "\n".join([*pairs, ""]))

    rows = [row[row != 0].tolist() for batch in own_batches(run, None) for row in batch.source_ids]

    expected = [ids for ids in run.source_tokenizer.encode(lines) if len(ids) > 1]
    assert sorted(rows) == sorted(expected)
    assert len(expected) == 4
    short = [row for batch in own_batches(run, 5) for row in batch.source_ids]
    assert len(short) == sum(len(ids) <= 5 for ids in expected)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "{",
        '{"target": "a"}',
        "[]\n",
        "3\n",
        "\x1b[31m\n",
        '{"source": 5}\n',
        '{"source": null}\n',
        '{"source": ["a\x1b"]}\n',
        '{"source": "half \\ud800"}\n',
        "[" * 100_000,
    ],
    ids=lambda text: str(text)[:20],
)
def test_lines_that_are_missing_or_damaged_are_told(make_run: MakeRun, text: str | None) -> None:
    folder = make_run(lively=False)
    run = write_proof(folder, text)

    with pytest.raises(RunError) as caught:
        own_batches(run, None)

    assert str(caught.value).startswith(f"{folder / 'proof.jsonl'}: ")
    assert "\x1b" not in str(caught.value)
