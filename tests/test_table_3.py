"""Table 3 of the paper: every row as overrides of the bundled base model, built and counted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.compare import compare
from builder.blueprint.load import load_blueprint
from builder.blueprint.plan import make_plan
from builder.compile import compile_model

PAGE = Path(__file__).parent.parent / "docs" / "table-3.md"
BASE = {"N": 6, "d_model": 512, "d_ff": 2048, "h": 8, "d_k": 64, "d_v": 64}
"""The columns that decide about parameters, as the paper prints them for the base model."""


class Row(NamedTuple):
    """A row of the table: what it changes, in a blueprint and in the paper's columns."""

    overrides: tuple[str, ...] = ()
    columns: dict[str, int] = {}  # noqa: RUF012
    printed: int | None = None
    """Millions of parameters; None where the paper leaves the column blank."""
    learned: int = 0
    """Positions that have a trained vector in each stack."""


def heads(count: int, width: int) -> Row:
    changes = {"heads": count, "d_k": width, "d_v": width}
    overrides = tuple(f"model.attention.{key}={value}" for key, value in changes.items())
    return Row(overrides, {"h": count, "d_k": width, "d_v": width})


def keys(width: int, printed: int) -> Row:
    overrides = (f"model.attention.d_k={width}", "model.attention.d_v=64")
    return Row(overrides, {"d_k": width}, printed)


def widths(d_model: int, head: int, printed: int) -> Row:
    columns = {"d_model": d_model, "d_k": head, "d_v": head}
    attention = (f"model.attention.d_k={head}", f"model.attention.d_v={head}")
    return Row((f"model.d_model={d_model}", *attention), columns, printed)


def dropout(share: float) -> Row:
    places = ("residual", "embedding")  # where section 5.4 puts it
    return Row(tuple(f"model.dropout.{place}={share}" for place in places))


ROWS = {
    "base": Row(printed=65),
    "(A) h=1": heads(1, 512),
    "(A) h=4": heads(4, 128),
    "(A) h=16": heads(16, 32),
    "(A) h=32": heads(32, 16),
    "(B) d_k=16": keys(16, 58),
    "(B) d_k=32": keys(32, 60),
    "(C) N=2": Row(("model.layers=2",), {"N": 2}, 36),
    "(C) N=4": Row(("model.layers=4",), {"N": 4}, 50),
    "(C) N=8": Row(("model.layers=8",), {"N": 8}, 80),
    "(C) d_model=256": widths(256, 32, 28),
    "(C) d_model=1024": widths(1024, 128, 168),
    "(C) d_ff=1024": Row(("model.feed_forward.d_ff=1024",), {"d_ff": 1024}, 53),
    "(C) d_ff=4096": Row(("model.feed_forward.d_ff=4096",), {"d_ff": 4096}, 90),
    "(D) P_drop=0.0": dropout(0.0),
    "(D) P_drop=0.2": dropout(0.2),
    "(D) ε_ls=0.0": Row(("training.label_smoothing=0.0",)),
    "(D) ε_ls=0.2": Row(("training.label_smoothing=0.2",)),
    "(E) learned": Row(("model.positions={kind: learned, max_length: 256}",), learned=256),
    "big": Row(
        (
            "model.d_model=1024",
            "model.attention.heads=16",
            "model.feed_forward.d_ff=4096",
            *dropout(0.3).overrides,
            "training.steps=300000",
        ),
        {"d_model": 1024, "d_ff": 4096, "h": 16},
        213,
    ),
}
FAMILY = [name for name, row in ROWS.items() if row.printed and name != "big"]
VOCABULARIES = 37_000, 41_100


@cache
def load(overrides: tuple[str, ...], vocab_size: int = VOCABULARIES[0]) -> Blueprint:
    rows = (f"model.vocab_size={vocab_size}", f"tokenizer.vocab_size={vocab_size}")
    return load_blueprint("transformer-base", (*overrides, *rows))


def built(blueprint: Blueprint) -> int:
    """Count the parameters of the network; no memory is taken."""
    with torch.device("meta"):
        network = compile_model(blueprint.model)
    return sum(parameter.numel() for parameter in network.parameters())


def closed_formula(row: Row, vocab_size: int) -> int:
    """One shared embedding, no attention biases, biases in feed-forward and norms."""
    layers, d_model, d_ff, heads, d_k, d_v = {**BASE, **row.columns}.values()
    attention = 2 * d_model * heads * (d_k + d_v)
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return layers * (encoder + decoder) + (vocab_size + 2 * row.learned) * d_model


INTRODUCTION = """\
# Table 3 of the paper

The twenty models of Table 3 of "Attention Is All You Need" (Vaswani et al., 2017), each as
overrides of the bundled blueprint `transformer-base`. Any command takes them, each in quotes behind
a `--set` of its own: `transom build transformer-base --set 'model.layers=2'`. Parameters are
counted with one shared embedding of V rows. The paper prints them in millions, and for some rows.
"""

NOTES = """\
The paper's V is known as "about 37,000". Every V from 41,004 to 41,208 rounds to all ten figures
printed for the base family, 41,100 among them, and none of these to the 213 of the big model.

`P_drop` is on the output of each sub-layer and on the sums of embeddings and positions (section
5.4); the dropouts of attention weights and activations, which the paper does not mention, stay as
they are. Learned positions have as many rows as the longest sequence has tokens, in each stack.

Written by `make bench NAME=table_3`; `tests/test_table_3.py` holds the rows, builds each model and
compares its parameters with a closed formula.
"""


def page() -> str:
    """Write the page that shows the table."""
    header = ["Row", "Overrides", *(f"V = {size:,}" for size in VOCABULARIES), "Printed"]
    lines = [header, ["---", "---", "--:", "--:", "--:"]]
    for name, row in ROWS.items():
        plans = [make_plan(load(row.overrides, size)) for size in VOCABULARIES]
        overrides = " ".join(f"`{override}`" for override in row.overrides) or "none"
        counts = [f"{plan.parameters.fixed:,}" for plan in plans]
        lines.append([name, overrides, *counts, "" if row.printed is None else str(row.printed)])
    return "\n".join([INTRODUCTION, *(f"| {' | '.join(line)} |" for line in lines), "", NOTES])


def test_the_table_is_whole() -> None:
    assert len(ROWS) == 20
    assert len(FAMILY) == 10


@pytest.mark.parametrize("vocab_size", VOCABULARIES)
@pytest.mark.parametrize("name", ROWS)
def test_each_row_is_built_and_counted(name: str, vocab_size: int) -> None:
    row = ROWS[name]
    blueprint = load(row.overrides, vocab_size)

    expected = closed_formula(row, vocab_size)

    assert built(blueprint) == expected
    assert make_plan(blueprint).parameters.fixed == expected


@pytest.mark.parametrize("name", FAMILY)
def test_the_family_rounds_to_the_printed_figures(name: str) -> None:
    assert closed_formula(ROWS[name], 41_100) / 1e6 == pytest.approx(ROWS[name].printed, abs=0.5)


def test_the_range_of_rows_that_rounds_to_them_all() -> None:
    def fits(vocab_size: int, names: Sequence[str] = FAMILY) -> bool:
        return all(
            round(closed_formula(ROWS[name], vocab_size) / 1e6) == ROWS[name].printed
            for name in names
        )

    assert [v for v in range(36_000, 43_000) if fits(v)] == [*range(41_004, 41_209)]
    assert not any(fits(v, ["big"]) for v in range(41_004, 41_209))


def test_the_paper_s_bodies() -> None:
    assert closed_formula(ROWS["base"], 0) == 44_101_632
    assert closed_formula(ROWS["big"], 0) == 176_283_648
    assert closed_formula(ROWS["base"], 37_000) == 63_045_632
    assert closed_formula(ROWS["big"], 37_000) == 214_171_648


@pytest.mark.parametrize("name", ROWS)
def test_a_row_differs_from_base_in_its_overrides_alone(name: str) -> None:
    base, row = load(()), load(ROWS[name].overrides)

    keys = [choice.key for choice in compare(base, row).choices]

    for word, written in (
        ("encoder.", ""),
        ("decoder.", ""),
        ("cross_", ""),
        ("kv_heads", "heads"),
    ):
        keys = [key.replace(word, written) for key in keys]  # where both stacks' keys are written
    named = {override.split("=")[0] for override in ROWS[name].overrides}
    assert {key for key in keys if not key.startswith(tuple(named))} == set()
    assert bool(keys) == (name != "base")


def test_the_bundled_big_model_is_the_row() -> None:
    row: Any = load(ROWS["big"].overrides)

    assert compare(row, load_blueprint("transformer-big")).choices == ()


def test_the_page_shows_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()
