"""An unknown key leads to the right one: near it, elsewhere, or under our name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builder.blueprint.suggest import nearest
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
        ("training: {steps: 1, schedule: {lr: 1}}", "`factor`"),
        ("model: {attention: {basi: true}}", "`bias`"),
        ("model: {pisitoins: {kind: rotary}}", "`positions`"),
        ("model: {positions: {knid: rotary}}", "`kind`"),
        ("training: {steps: 1, labl_smothing: 0}", "`label_smoothing`"),
        ("training: {steps: 1, d_modle: 0}", "`d_model` in `model`"),
        ("training: {steps: 1, schedule: {learning_rate: 1}}", "`factor`"),
        ("model: {encoder: {mask: {before: 2}}}", "window"),
        ("model: {positions: {max_length: 2}}", "learned"),
        ("model: {norm: {kind: rms_norm, bias: true}}", "`model.attention`"),
        ("tokenizer: {kind: char, vocab_size: 9}", "bpe"),
        ("data: {train: {builtin: dates, source: a}, valid: {builtin: dates}}", "path"),
    ],
)
def test_an_unknown_key_leads_to_the_right_one(refuse: Refuse, text: str, right: str) -> None:
    [problem] = refuse(text)
    assert right in problem.message


@pytest.mark.parametrize(
    ("word", "choice"),
    [
        ("nooam", "noam"),
        ("NOAM", "noam"),
        ("onam", "noam"),
        ("nmo", "noam"),
        ("inverts_sqrt", "inverse_sqrt"),
        ("inversesqrt", "inverse_sqrt"),
        ("adamw", ""),
        ("zzz", ""),
    ],
)
def test_only_what_is_near_is_suggested(word: str, choice: str) -> None:
    assert nearest(word, ["noam", "inverse_sqrt"]) == choice
