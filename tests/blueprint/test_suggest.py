"""An unknown key leads to the right one: near it, elsewhere, or under our name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builder.blueprint.blueprint import WrittenBlueprint
from builder.blueprint.fields import walk_schema
from builder.blueprint.nodes import dotted
from builder.blueprint.suggest import FOREIGN, nearest
from builder.errors import Problem

Refuse = Callable[..., list[Problem]]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("model: {droput: 0.1}", "`dropout`"),
        ("model: {Layers: 2}", "`layers`"),
        ("model: {layer: 2}", "`layers`"),
        ("model: {dModel: 2}", "`d_model`"),
        ("model: {d-model: 2}", "`d_model`"),
        ("model: {heads: 2}", "`model.attention`"),
        ("model: {head: 2}", "`model.attention`"),
        ("model: {encoder: {heads: 2}}", "`model.encoder.attention`"),
        ("model: {mask: full}", "`model.encoder` or `model.decoder`"),
        ("model: {attention: {dropout: 0}}", "`model`"),
        ("layers: 2", "`model`"),
        ("model: {name: x}", "the top level"),
        ("training: {steps: 1, learning_rate: 1}", "`training.schedule`"),
        ("training: {steps: 1, warmup: 1}", "`training.schedule`"),
        ("training: {steps: 1, warmpu: 1}", "`training.schedule`"),
        ("model: {num_layers: 2}", "`model.layers`"),
        ("model: {encoder: {num_layers: 2}}", "`model.layers`"),
        ("model: {n_heads: 2}", "`model.attention.heads`"),
        ("model: {attention: {num_heads: 2}}", "`model.attention.heads`"),
        ("model: {num_attention_heads: 2}", "`model.attention.heads`"),
        ("model: {hidden_size: 2}", "`model.d_model`"),
        ("model: {emb_dim: 2}", "`model.d_model`"),
        ("model: {ff_size: 2}", "`model.feed_forward.d_ff`"),
        ("training: {steps: 1, lr: 2}", "`training.schedule.learning_rate`"),
        ("training: {steps: 1, bs: 2}", "`training.batch_tokens`"),
        ("training: {steps: 1, schedule: {learning_rate: 1}}", "`factor`"),
        ("model: {encoder: {mask: {before: 2}}}", "window"),
        ("model: {positions: {max_length: 2}}", "learned"),
        ("model: {norm: {kind: rms_norm, bias: true}}", "`model.attention`"),
        ("extends: other.yaml", "training"),
        ("tokenizer: {kind: char, vocab_size: 9}", "bpe"),
        ("data: {train: {builtin: dates, source: a}, valid: {builtin: dates}}", "path"),
    ],
)
def test_an_unknown_key_leads_to_the_right_one(refuse: Refuse, text: str, right: str) -> None:
    [problem] = refuse(text)
    assert right in problem.message


def test_every_foreign_name_leads_to_a_key_that_exists() -> None:
    known = {dotted(path) for path, _ in walk_schema(WrittenBlueprint)}
    assert set(FOREIGN) <= known


def test_no_foreign_name_is_ours() -> None:
    ours = {str(path[-1]) for path, _ in walk_schema(WrittenBlueprint)}
    foreign = [name for names in FOREIGN.values() for name in names.split()]
    assert not ours & set(foreign)
    assert len(foreign) == len(set(foreign))


@pytest.mark.parametrize(
    ("word", "choice"), [("nooam", "noam"), ("NOAM", "noam"), ("adamw", ""), ("zzz", "")]
)
def test_only_what_is_near_is_suggested(word: str, choice: str) -> None:
    assert nearest(word, ["noam", "inverse_sqrt"]) == choice
