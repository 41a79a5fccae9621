"""What holds for both sides reaches each of them, and the more specific key wins."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.data import BuiltIn
from builder.blueprint.model import Learned, Rotary, Sinusoidal, Window
from builder.blueprint.tokenizer import BPE, Char, WordPieces
from builder.errors import Problem

Parse = Callable[..., Blueprint]
Refuse = Callable[..., list[Problem]]


def test_a_key_of_the_model_holds_for_both_stacks(parse: Parse) -> None:
    model = parse(
        "model: {layers: 2, attention: {heads: 4}, feed_forward: {d_ff: 8},"
        " positions: rotary, norm: rms_norm, dropout: 0.3}"
    ).model
    for stack in (model.encoder, model.decoder):
        assert stack.layers == 2
        assert stack.attention.heads == (4,)
        assert stack.feed_forward.d_ff == (8,)
        assert stack.positions[0].kind == "rotary"
        assert stack.norm.kind == "rms_norm"
        assert stack.dropout.activation == 0.3
    assert model.decoder.cross_attention.heads == (4,)


def test_a_stack_overrides_key_by_key(parse: Parse) -> None:
    model = parse(
        "model: {d_model: 64, layers: 2, attention: {heads: 4, bias: true},"
        " decoder: {layers: 1, attention: {heads: 2}}}"
    ).model
    assert (model.encoder.layers, model.decoder.layers) == (2, 1)
    assert (model.encoder.attention.heads, model.decoder.attention.heads) == ((4,), (2,))
    assert model.decoder.attention.bias
    assert (model.encoder.attention.d_k, model.decoder.attention.d_k) == (16, 32)


def test_cross_attention_follows_the_decoders_attention(parse: Parse) -> None:
    decoder = parse(
        "model: {d_model: 64, attention: {heads: 4, d_v: 8},"
        " decoder: {attention: {heads: 2, d_k: 5}, cross_attention: {heads: 1}}}"
    ).model.decoder
    assert decoder.cross_attention.heads == (1,)
    assert (decoder.cross_attention.d_k, decoder.cross_attention.d_v) == (5, 8)
    assert decoder.attention.heads == (2,)


@pytest.mark.parametrize("key", ["mask: full", "positions: none"])
def test_cross_attention_has_no_positions_or_mask(refuse: Refuse, key: str) -> None:
    [problem] = refuse(f"model: {{decoder: {{cross_attention: {{{key}}}}}}}")
    assert problem.path.startswith("model.decoder.cross_attention.")


@pytest.mark.parametrize(
    ("dropout", "encoder", "residual", "attention"),
    [
        ("0.1", "{dropout: 0.2}", 0.2, 0.2),
        ("0.1", "{dropout: {attention: 0}}", 0.1, 0.0),
        ("{attention: 0.3}", "{dropout: 0.2}", 0.2, 0.2),
        ("{attention: 0.3}", "{dropout: {residual: 0.5}}", 0.5, 0.3),
        ("0.4", "{}", 0.4, 0.4),
        ("0.4", "", 0.4, 0.4),
        ("0.4", "{dropout: }", 0.4, 0.4),
    ],
)
def test_numbers_and_sections_of_dropout_merge(
    parse: Parse, dropout: str, encoder: str, residual: float, attention: float
) -> None:
    found = parse(f"model: {{dropout: {dropout}, encoder: {encoder}}}").model.encoder.dropout
    assert (found.residual, found.attention) == (residual, attention)


def test_the_same_kind_merges_and_another_replaces(parse: Parse) -> None:
    model = parse(
        "model: {positions: {kind: sinusoidal, base: 500},"
        " encoder: {positions: sinusoidal}, decoder: {positions: rotary}}"
    ).model
    assert model.encoder.positions == (Sinusoidal(kind="sinusoidal", base=500),)
    assert model.decoder.positions == (Rotary(kind="rotary"),)


def test_a_section_without_kind_has_the_kind_it_overrides(parse: Parse) -> None:
    model = parse(
        "model: {positions: {kind: learned, max_length: 300},"
        " encoder: {positions: {max_length: 400}}, decoder: {mask: {kind: window, before: 3}}}"
    ).model
    assert model.encoder.positions == (Learned(kind="learned", max_length=400),)
    assert model.decoder.positions == (Learned(kind="learned", max_length=300),)
    assert model.decoder.mask == (Window(kind="window", before=3, after=0),)


def test_a_section_without_any_kind_has_the_default_one(parse: Parse) -> None:
    blueprint = parse(
        "model: {norm: {placement: pre}, positions: {base: 300}}\n"
        "training: {steps: 1, schedule: {warmup: 7}, optimizer: {eps: 1e-8}}\n"
        "generation: {max_length: {plus: 3}}\n"
    )
    assert blueprint.model.encoder.norm.kind == "layer_norm"
    assert blueprint.model.encoder.norm.placement == "pre"
    assert blueprint.model.decoder.positions == (Sinusoidal(kind="sinusoidal", base=300),)
    assert blueprint.training is not None
    assert blueprint.training.schedule.kind == "noam"
    assert blueprint.training.schedule.warmup == 7
    assert blueprint.generation.max_length.plus == 3


def test_a_mistake_that_is_carried_down_is_told_once(refuse: Refuse) -> None:
    [problem] = refuse("model:\n  attention: {heads: x}\n")
    assert (problem.line, problem.column, problem.path) == (2, 15, "model.attention.heads")


def test_a_key_of_the_model_is_checked_even_where_both_stacks_override_it(refuse: Refuse) -> None:
    problems = refuse(
        "model:\n  layers: many\n  positions: {kind: rotary, bas: 3}\n"
        "  encoder: {layers: 1, positions: none}\n  decoder: {layers: 1, positions: none}\n"
    )
    assert [problem.path for problem in problems] == ["model.layers", "model.positions.bas"]


@pytest.mark.parametrize("written", ["char", "{kind: char}", "{kind: char, shared: true}"])
def test_one_tokenizer_stands_for_both_sides(parse: Parse, written: str) -> None:
    tokenizer = parse(f"tokenizer: {written}").tokenizer
    assert tokenizer is not None
    assert tokenizer.shared
    assert tokenizer.source == tokenizer.target == Char(kind="char")


def test_a_side_written_apart_makes_two_tokenizers(parse: Parse) -> None:
    tokenizer = parse(
        "model: {embeddings: {tie: none}}\n"
        "tokenizer: {kind: bpe, vocab_size: 99, lowercase: true,"
        " source: {vocab_size: 50}, target: word}"
    ).tokenizer
    assert tokenizer is not None
    assert not tokenizer.shared
    assert tokenizer.source == BPE(kind="bpe", vocab_size=50, lowercase=True)
    assert tokenizer.target == WordPieces(kind="word")


def test_keys_of_the_tokenizer_are_checked_even_where_no_side_takes_them(refuse: Refuse) -> None:
    [problem] = refuse(
        "model: {embeddings: {tie: none}}\n"
        "tokenizer: {vocab_size: many, kind: bpe, source: char, target: char}\n"
    )
    assert (problem.line, problem.path) == (2, "tokenizer.vocab_size")


def test_a_built_in_set_stands_for_all_three_splits(parse: Parse) -> None:
    data = parse("data: {builtin: dates, max_length: 40}").data
    assert data is not None
    assert data.train == data.valid == data.test == BuiltIn(builtin="dates")
    assert (data.max_length.source, data.max_length.target) == (40, 40)


def test_merge_keys_work_in_a_blueprint(parse: Parse) -> None:
    model = parse(
        "model:\n"
        "  encoder: &stack {layers: 2, attention: {heads: 8, d_k: 16}}\n"
        "  decoder: {attention: {heads: 4}, <<: *stack}\n"
    ).model
    assert model.decoder.layers == 2
    assert model.decoder.attention.heads == (4,)
    assert model.decoder.attention.d_k == 128
