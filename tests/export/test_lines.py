"""The lines that a proof compares."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from builder.errors import RunError
from builder.export.lines import LONGEST, USUAL, own_batches, random_batches
from builder.run import Run

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
    model = Run.open(make_run(learned(*limits) if limits else {}, lively=False)).load_model()

    batches = random_batches(model)

    assert max(batch.source_ids.shape[1] for batch in batches) == longest
    assert {batch.max_length for batch in batches} == {max_length, 1}
    rows = [row[row != 0].tolist() for batch in batches for row in batch.source_ids]
    assert all(row.index(2) == len(row) - 1 for row in rows)
    assert {1, 2, longest} <= set(map(len, rows))


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
