"""Parameters are counted by closed formulas, and agree with what the paper prints."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.load import load_blueprint
from builder.blueprint.plan import make_plan
from builder.blueprint.plan.amount import Amount, rounded

Parse = Callable[..., Blueprint]

BASE = 44_101_632
"""The body of the base model, without the embedding."""


def count(blueprint: Blueprint) -> Amount:
    return make_plan(blueprint).parameters


def test_the_base_model_counts_as_the_closed_formula(parse: Parse) -> None:
    assert count(parse("")) == Amount(BASE, (("V", 512),))
    assert str(count(parse(""))) == "44,101,632 + 512·V"
    assert count(load_blueprint("transformer-base")) == Amount(63_045_632)


BIG = ("model.d_model=1024", "model.attention.heads=16", "model.feed_forward.d_ff=4096")


def test_the_big_model_counts_as_the_closed_formula(parse: Parse) -> None:
    assert count(parse("", *BIG)).fixed == 176_283_648
    assert count(parse("", *BIG, "model.vocab_size=37000")) == Amount(214_171_648)


TABLE_3 = [
    ((), 65),
    (("model.attention.d_k=16",), 58),
    (("model.attention.d_k=32",), 60),
    (("model.layers=2",), 36),
    (("model.layers=4",), 50),
    (("model.layers=8",), 80),
    (("model.d_model=256", "model.attention={d_k: 32, d_v: 32}"), 28),
    (("model.d_model=1024", "model.attention={d_k: 128, d_v: 128}"), 168),
    (("model.feed_forward.d_ff=1024",), 53),
    (("model.feed_forward.d_ff=4096",), 90),
]
"""Table 3 of Vaswani et al. (2017): what each row changes, and its millions of parameters."""


@pytest.mark.parametrize("rows", [41_004, 41_100, 41_208])
@pytest.mark.parametrize(("changes", "millions"), TABLE_3)
def test_table_3_for_a_vocabulary_of_the_right_size(
    parse: Parse, changes: tuple[str, ...], millions: int, rows: int
) -> None:
    keep = () if any("d_v" in change for change in changes) else ("model.attention.d_v=64",)
    plan = count(parse("", *changes, *keep, f"model.vocab_size={rows}"))
    assert round(plan.fixed / 1e6) == millions


@pytest.mark.parametrize("rows", [41_003, 41_209])
def test_no_other_vocabulary_fits_the_whole_table(parse: Parse, rows: int) -> None:
    def fits(changes: tuple[str, ...], millions: int) -> bool:
        keep = () if any("d_v" in change for change in changes) else ("model.attention.d_v=64",)
        plan = count(parse("", *changes, *keep, f"model.vocab_size={rows}"))
        return round(plan.fixed / 1e6) == millions

    assert not all(fits(changes, millions) for changes, millions in TABLE_3)


SMALL = """
model:
  d_model: 8
  layers: 1
  attention: {heads: 2, d_k: 3, d_v: 5}
  feed_forward: {d_ff: 7}
"""
ATTENTION = 2 * 8 * 6 + 2 * 8 * 10
FEED_FORWARD = 8 * 7 + 7 + 7 * 8 + 8
BODY = 3 * ATTENTION + 2 * FEED_FORWARD + 5 * 16


@pytest.mark.parametrize(
    ("change", "more"),
    [
        ("model.layers=1", 0),
        ("model.layers=2", BODY),
        ("model.encoder.layers=2", ATTENTION + FEED_FORWARD + 2 * 16),
        ("model.decoder.layers=2", 2 * ATTENTION + FEED_FORWARD + 3 * 16),
        ("model.attention.bias=true", 3 * (6 + 6 + 10 + 8)),
        ("model.decoder.cross_attention.bias=true", 6 + 6 + 10 + 8),
        ("model.decoder.cross_attention.d_v=6", 2 * 8 * 2),
        ("model.feed_forward.bias=false", -2 * (7 + 8)),
        ("model.feed_forward.activation=gelu", 0),
        ("model.feed_forward.activation=swiglu", 2 * (8 * 7 + 7)),
        ("model.feed_forward={activation: swiglu, bias: false}", 2 * (8 * 7 - 7 - 8)),
        ("model.norm.placement=pre", 2 * 16),
        ("model.norm=rms_norm", -5 * 8),
        ("model.norm={kind: rms_norm, placement: pre}", -5 * 8 + 2 * 8),
        ("model.positions={kind: learned, max_length: 9}", 2 * 9 * 8),
        ("model.encoder.positions={kind: learned, max_length: 9}", 9 * 8),
        ("model.attention.d_k=4", 3 * 2 * 8 * 2),
        ("model.positions=none", 0),
    ],
)
def test_each_choice_adds_its_own_parameters(parse: Parse, change: str, more: int) -> None:
    assert count(parse(SMALL)).fixed == BODY
    assert count(parse(SMALL, change)).fixed == BODY + more


@pytest.mark.parametrize(
    ("tie", "source", "target"),
    [("none", 1, 2), ("target_output", 1, 1)],
)
def test_two_vocabularies_count_apart(parse: Parse, tie: str, source: int, target: int) -> None:
    tied = f"model.embeddings.tie={tie}"
    known = count(parse(SMALL, tied, "model.vocab_size={source: 10, target: 100}"))
    unknown = count(parse(SMALL, tied))

    assert known == Amount(BODY + 8 * (10 * source + 100 * target))
    assert unknown == Amount(BODY, (("V_source", 8 * source), ("V_target", 8 * target)))


@pytest.mark.parametrize(
    ("tie", "copies"), [("none", 3), ("source_target", 2), ("source_output", 2), ("all", 1)]
)
def test_one_vocabulary_counts_once_for_each_matrix(parse: Parse, tie: str, copies: int) -> None:
    shared = parse(f"{SMALL}tokenizer: char\n", f"model.embeddings.tie={tie}")
    assert count(shared) == Amount(BODY, (("V", 8 * copies),))
    assert str(count(shared)) == f"{BODY:,} + {8 * copies}·V"


def test_a_bpe_tokenizer_makes_its_side_known(parse: Parse) -> None:
    shared = parse(f"{SMALL}tokenizer: {{kind: bpe, vocab_size: 50}}\n")
    apart = parse(
        f"{SMALL}  embeddings: {{tie: target_output}}\n"
        "tokenizer: {source: char, target: {kind: bpe, vocab_size: 50}}\n"
    )
    assert count(shared) == Amount(BODY + 50 * 8)
    assert count(apart) == Amount(BODY + 50 * 8, (("V_source", 8),))


def test_the_plan_as_plain_values_agrees_with_its_sums(parse: Parse) -> None:
    plan = make_plan(parse(SMALL, "model.layers=3", "model.vocab_size=11"))
    plain = json.loads(json.dumps(plan.as_dict()))

    assert plain["parameters"]["total"] == plan.parameters.fixed
    assert sum(block["parameters"]["total"] for block in plain["blocks"]) == plan.parameters.fixed
    assert {block["copies"] for block in plain["blocks"]} == {1, 3}
    tied = [block["name"] for block in plain["blocks"] if block["tied_to"]]
    assert tied == ["target embedding", "output projection"]
    by_block = plain["flops"]["by_block"].values()
    for key, total in plain["flops"]["forward"].items():
        assert sum(flops[key]["total"] for flops in by_block) == total["total"]
        assert plain["flops"]["training"][key]["total"] == 3 * total["total"]


def test_symbols_reach_every_figure_that_a_vocabulary_enters(parse: Parse) -> None:
    plain = make_plan(parse(SMALL, "model.embeddings.tie=none")).as_dict()

    both, output = {"V_source", "V_target"}, {"V_target"}
    assert set(plain["parameters"]["per_row"]) == both
    assert set(plain["flops"]["forward"]["per_target_token"]["per_row"]) == output
    assert set(plain["training_memory_bytes"]["logits"]["per_row"]) == output
    assert set(plain["training_memory_bytes"]["total"]["per_row"]) == both
    assert all(set(size["per_row"]) == both for size in plain["file_bytes"].values())


def test_a_symbol_stands_for_what_a_known_vocabulary_gives(parse: Parse) -> None:
    """With so many rows that the loss works on as few of them at once as it may."""
    symbolic, known = make_plan(parse("")), make_plan(parse("", "model.vocab_size=9000"))
    rows = {"V": 9000}

    assert symbolic.parameters.at(rows) == known.parameters.fixed
    assert symbolic.flops.target.at(rows) == known.flops.target.fixed
    assert symbolic.memory.total.at(rows) == known.memory.total.fixed
    for precision, size in symbolic.file.items():
        assert size.at(rows) == known.file[precision].fixed


def test_int8_keeps_biases_norms_and_scales_in_float32(parse: Parse) -> None:
    plan = make_plan(parse(SMALL, "model.vocab_size=11"))

    per_layer = 2 * (7 + 8) + 5 * 2 * 8  # biases and norms
    columns = 3 * (6 + 6 + 10 + 8) + 2 * (7 + 8) + 11
    numbers = BODY + 11 * 8 - per_layer
    assert plan.file["int8"].fixed == numbers + 5 * columns + 4 * per_layer
    assert plan.file["float16"] * 2 == plan.file["float32"] == plan.parameters * 4


def test_positions_that_end_early_bound_the_lengths(parse: Parse) -> None:
    plan = make_plan(parse(SMALL, "model.encoder.positions={kind: learned, max_length: 9}"))
    assert (plan.lengths.source, plan.lengths.target) == (9, 256)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (9_996, "10 kB"),
        (999_500, "1 MB"),
        (63_045_632, "63 MB"),
        (4 * 10**15, "4,000 TB"),
    ],
)
def test_figures_keep_three_digits(number: int, text: str) -> None:
    assert rounded(number, "B") == text
