"""An unknown key leads to the right one: near it, elsewhere, or under our name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builder.blueprint.blueprint import WrittenBlueprint
from builder.blueprint.fields import walk_schema
from builder.blueprint.nodes import dotted
from builder.blueprint.slips import nearest
from builder.blueprint.within import REASONS, WITHIN
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
        ("model: {attention: {dropout: 0}}", "`model.dropout.attention`"),
        ("model: {encoder: {embeddings: {scale: true}}}", "it belongs in `model`"),
        ("model: {max_length: 9}", "`model.positions`"),
        ("model: {decoder: {feed_forward: {dim: 9}}}", "`model.decoder.feed_forward.d_ff`"),
        ("model: {norm: {type: rms_norm}}", "`kind`"),
        ("model: {norm: {epsilon: 1e-6}}", "`model.norm.eps`"),
        ("model: {dropout: {attn: 0}}", "`model.dropout.attention`"),
        ("model: {embeddings: {share: true}}", "`model.embeddings.tie`"),
        ("training: {steps: 1, optimizer: {name: adam}}", "`kind`"),
        ("training: {steps: 1, optimizer: {epsilon: 1e-6}}", "`training.optimizer.eps`"),
        ("training: {steps: 1, validate: {steps: 9}}", "`training.validate.every`"),
        ("data: {valid: {path: a, file: a}, train: {builtin: dates}}", "`data.valid.path`"),
        ("tokenizer: {kind: bpe, vocab_size: 99, size: 99}", "`tokenizer.vocab_size`"),
        ("source: a.txt", "`data.train.source`"),
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
        ("model: {norm: {kind: rms_norm, bias: true}}", "layer_norm"),
        ("tokenizer: {kind: char, vocab_size: 9}", "bpe"),
        ("data: {train: {builtin: dates, source: a}, valid: {builtin: dates}}", "path"),
        ("generation: {beams: 5}", "`kind: beam`"),
        ("generation: {n_best: 5}", "`kind: beam` or `kind: sampling`"),
        ("beams: 5", "`generation`, of `kind: beam`"),
        ("export: {max_drop: 1}", "`export.precision`, of `kind: float16` or `kind: int8`"),
        ("dmodel: 64\nmodel: {}\ntransom: 1", "`d_model` in `model`"),
        ("dmodel: {layers: 2}\ntransom: 1", "`model`"),
        ("seed: 5", "it belongs in `training`"),
    ],
)
def test_an_unknown_key_leads_to_the_right_one(refuse: Refuse, text: str, right: str) -> None:
    [problem] = refuse(text)
    assert right in problem.message


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("model: {kind: transformer}", "`kind`"),
        ("model: {feed_forward: {size: 9}}", "tie"),
        ("model: {feed_forward: {ratio: 4}}", "generation"),
        ("model: {embeddings: {size: 9}}", "`tie`"),
        ("model: {decoder: {type: transformer}}", "tie"),
        ("training: {steps: 1, task: translation}", "mask"),
        ("training: {steps: 1, precision: bf16}", "export"),
        ("training: {steps: 1, checkpoint: {path: a}}", "data"),
        ("training: {steps: 1, checkpoint: {best: true}}", "`test`"),
        ("generation: {size: 5}", "tie"),
        ("generation: {beta: 0.2}", "betas"),
        ("generation: {min_lenght: 5}", "`max_length`"),
        ("generation: {max_length: {source: 5}}", "tokenizer"),
        ("export: {path: a.onnx}", "data"),
        ("tokenizer: {kind: char, dropout: 0.1}", "model"),
    ],
)
def test_nothing_far_fetched_is_suggested(refuse: Refuse, text: str, wrong: str) -> None:
    [problem] = refuse(text)
    assert wrong not in problem.message


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


PATHS = [path for path, _ in walk_schema(WrittenBlueprint)]


def test_names_of_one_section_lead_to_keys_that_exist_and_are_none_there() -> None:
    for section, names in WITHIN.items():
        assert names.keys() <= set(map(dotted, PATHS))
        inside = {path[-1] for path in PATHS if path[-2:-1] == ((section,) if section else ())}
        assert not inside & {name for theirs in names.values() for name in theirs.split()}


def test_reasons_are_for_keys_that_do_not_exist() -> None:
    assert not REASONS.keys() & {path[-2:] for path in PATHS}
