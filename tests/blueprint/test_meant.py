"""What a user may have meant by several keys at once, by a wrong word, and by a section alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builder.blueprint.blueprint import Blueprint, WrittenBlueprint
from builder.blueprint.examples import NEEDED
from builder.blueprint.fields import fields, kind_name, members, walk_schema, words
from builder.blueprint.foreign import explain
from builder.blueprint.synonyms import plain, translate
from builder.blueprint.ties import TIES
from builder.blueprint.values import FOREIGN
from builder.errors import Problem

Parse = Callable[..., Blueprint]
Refuse = Callable[..., list[Problem]]

KEYS = [(tuple(map(str, path)), info) for path, info in walk_schema(WrittenBlueprint)]


@pytest.mark.parametrize(
    ("keys", "tie"),
    [
        ("tied_embeddings: true", "source_target"),
        ("tied_softmax: true", "target_output"),
        ("tied_embeddings: true, tied_softmax: true", "all"),
        ("tied_embeddings: false, tied_softmax: true", "target_output"),
        ("tied_embeddings: false, tied_softmax: false", "none"),
        ("tied-embeddings: true", "target_output"),
        ("tied-embeddings-src: true", "source_target"),
        ("tied-embeddings: true, tied-embeddings-src: true", "all"),
        ("tied-embeddings-all: true", "all"),
        ("share_all_embeddings: true", "all"),
        ("share_all_embeddings: false", "none"),
        ("share_all_embeddings: false, share_decoder_input_output_embed: true", "target_output"),
        ("share_embeddings: true, share_decoder_embeddings: true", "all"),
        ("tie_word_embeddings: true", "all"),
        ("tie_word_embeddings: false", "source_target"),
        ("tie_word_embeddings: true, share_encoder_decoder_embeddings: false", "target_output"),
    ],
)
def test_what_is_tied_is_told_from_all_keys_together(refuse: Refuse, keys: str, tie: str) -> None:
    for text in (f"model: {{{keys}}}", f"model: {{embeddings: {{{keys}}}}}"):
        problems = refuse(text)
        assert len(problems) == keys.count(":")
        assert all(f"`model.embeddings.tie`; write `{tie}`" in each.message for each in problems)


@pytest.mark.parametrize(
    "text",
    [
        "generation: {do_sample: true, temperature: 0.5}",
        "generation: {beam_search: true, beams: 5, n_best: 2}",
        "generation: {search: beam, beams: 5}",
        "model: {embeddings: {tied_softmax: true}}\ntokenizer: {source: char, target: word}",
        "tokenizer: {source: char, target: word}\nmodel: {embeddings: {tying: target_output}}",
        "model: {positions: rotary, norm: {pre_norm: true}}",
    ],
)
def test_a_foreign_key_is_one_problem_and_has_its_value(refuse: Refuse, text: str) -> None:
    [problem] = refuse(text)
    assert "here it is called" in problem.message


def test_every_name_of_a_tie_is_known() -> None:
    names = [name for names in TIES.values() for name in names.split()]
    assert {getattr(explain(name), "ours", "") for name in names} == {"model.embeddings.tie"}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("tokenizer: {type: char}", "tokenizer.type"),
        ("tokenizer: {type: bpe, vocab_size: 80}", "tokenizer.type"),
        ("tokenizer: {kind: bpe, size: 80}", "tokenizer.size"),
        ("tokenizer: {source: {method: char}, target: char}", "tokenizer.source.method"),
        ("model: {positions: {name: learned, max_length: 9}}", "model.positions.name"),
        ("model: {encoder: {mask: {type: window, before: 3}}}", "model.encoder.mask.type"),
        (
            "training: {steps: 1, schedule: {type: constant, learning_rate: 1}}",
            "training.schedule.type",
        ),
    ],
)
def test_another_word_for_kind_is_one_problem(refuse: Refuse, text: str, path: str) -> None:
    [problem] = refuse(text)
    assert problem.path == path


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("training: {steps: 1, normalization: tokens}", "not a choice"),
        ("tokenizer: {kind: char, normalization: nfkc}", "not a choice"),
        (
            "data: {builtin: dates, src: {level: bpe, voc_limit: 9}}",
            "`tokenizer.source`, with `kind`",
        ),
        ("data: {builtin: dates, trg: {voc_limit: 9}}", "`vocab_size` for `voc_limit`"),
        ("data: {builtin: dates, src: train.en}", "`data.train.source`"),
    ],
)
def test_a_name_of_two_meanings_leads_to_the_right_one(
    refuse: Refuse, text: str, right: str
) -> None:
    [problem] = refuse(text)
    assert right in problem.message


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("training: {steps: 1, schedule: cosine}", "`inverse_sqrt`"),
        ("training: {steps: 1, schedule: {kind: linear}}", "`inverse_sqrt`"),
        ("training: {steps: 1, optimizer: adamw}", "without weight decay"),
        ("training: {steps: 1, validate: {metric: wer}}", "`exact_match`"),
        ("training: {steps: 1, validate: {metric: rouge}}", "`chrf`"),
        ("export: {precision: bf16}", "`float16`"),
        ("export: {precision: {kind: int4}}", "`int8`"),
        ("export: {precision: 16}", "`float16`"),
        ("export: {precision: {kind: int8, weights: int8}}", "nearest: `uint8`"),
        ("generation: contrastive_search", "nearest: `sampling`"),
        ("tokenizer: unigram", "nearest: `bpe`"),
        ("model: {feed_forward: {activation: tanh}}", "nearest: `gelu`"),
        ("model: {attention: mqa}", "`{kv_heads: 1}`"),
        ("model: {norm: pre}", "`norm: {placement: pre}`"),
        ("model: {encoder: {norm: prenorm}}", "`norm: {placement: pre}`"),
        ("model: {norm: {kind: post}}", "`norm: {placement: post}`"),
        ("model: {norm: rotary}", "`rotary` is a value of `model.positions`"),
        ("model: {encoder: {mask: rotary}}", "is a value of `model.encoder.positions`"),
        ("model: {feed_forward: swiglu}", "`feed_forward: {activation: swiglu}`"),
        ("model: {embeddings: tied}", "`embeddings: {tie: all}`"),
        ("training: {steps: 1, optimizer: noam}", "`noam` is a value of `training.schedule`"),
        ("training: {steps: 1, schedule: adam}", "`adam` is a value of `training.optimizer`"),
        ("training: {steps: 1, validate: bleu}", "`validate: {metric: bleu}`"),
        ("export: int8", "`export: {precision: int8}`"),
        ("data: dates", "`data: {builtin: dates}`"),
    ],
)
def test_a_word_that_is_no_choice_here_leads_to_ours(refuse: Refuse, text: str, right: str) -> None:
    [problem] = refuse(text)
    assert right in problem.message


@pytest.mark.parametrize(
    "text",
    [
        "training: {steps: 1, threads: all}",
        "tokenizer: gpt2",
        "model: {d_model: large}",
        "model: {positions: {kind: rotary, base: sinusoidal}}",
    ],
)
def test_a_word_that_means_nothing_is_only_told_what_is_allowed(refuse: Refuse, text: str) -> None:
    [problem] = refuse(text)
    assert "; " not in problem.message.partition("allowed: ")[2]


def test_words_that_are_explained_are_no_choices_and_not_translated() -> None:
    last = {path[-1] for path, _ in KEYS}
    assert FOREIGN.keys() <= last
    for key, said in FOREIGN.items():
        ours = [word for path, info in KEYS if path[-1] == key for word in words(info.annotation)]
        theirs = [word for names in said.values() for word in names.split()]
        assert not set(map(plain, ours)) & set(map(plain, theirs))
        assert [word for word in theirs if translate(word, ours)] == []
        assert len(set(map(plain, theirs))) == len(theirs)


APART = "model: {embeddings: {tie: none}}\n"
DATES = "data: {builtin: dates, test: {path: a, %s}}"


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("model: {positions: learned}", "model: {%s}"),
        ("model: {encoder: {mask: window}}", "model: {encoder: {%s}}"),
        ("model: {encoder: {mask: [prefix, full]}}", "model: {encoder: {mask: [%s, full]}}"),
        ("model: {vocab_size: {source: 5}}", "model: {%s}"),
        ("tokenizer: bpe", "%s"),
        (f"{APART}tokenizer: {{source: word}}", f"{APART}%s"),
        ("training: {steps: 1, schedule: constant}", "training: {steps: 1, %s}"),
        ("data: {builtin: dates, test: {source: a}}", "data: {builtin: dates, %s}"),
        (DATES % "columns: {target: 1}", DATES % "%s"),
        (
            "data: {builtin: dates, test: {columns: {source: 1, target: 2}}}",
            "data: {builtin: dates, test: {%s}}",
        ),
        ("data: {train: {path: a}}", "data: {train: {path: a}, %s}"),
    ],
)
def test_what_is_missing_is_told_with_a_form_that_is_right(
    parse: Parse, refuse: Refuse, text: str, whole: str
) -> None:
    form = refuse(text)[0].message.partition("write, for example, `")[2].rstrip("`")
    parse(whole % form)


def test_every_key_that_a_kind_needs_has_an_example() -> None:
    needed = {
        (kind_name(section), key)
        for _, info in KEYS
        for section in members(info.annotation).values()
        if kind_name(section)
        for key, field in fields(section).items()
        if field.is_required() and key != "kind"
    }
    assert needed == NEEDED.keys()
