"""The names of other toolkits lead to ours, with the value where it is another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from builder.blueprint.blueprint import WrittenBlueprint
from builder.blueprint.fields import owners as every_owner
from builder.blueprint.fields import walk_schema, words
from builder.blueprint.foreign import RENAMED, TRANSLATED, explain
from builder.blueprint.inexact import ABSENT, NOTED
from builder.blueprint.nodes import dotted
from builder.blueprint.synonyms import WORDS, plain, translate
from builder.errors import Problem

Refuse = Callable[..., list[Problem]]

NAMES = [
    name
    for names in (
        *RENAMED.values(),
        *TRANSLATED,
        *(names for names, _ in NOTED.values()),
        *ABSENT.values(),
    )
    for name in names.split()
]
KEYS = [(dotted(path), info) for path, info in walk_schema(WrittenBlueprint)]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("model: {num_layers: 2}", ["`model.layers`"]),
        ("model: {encoder: {num_layers: 2}}", ["`model.encoder.layers`"]),
        ("model: {decoder: {ff_size: 2}}", ["`model.decoder.feed_forward.d_ff`"]),
        ("model: {decoder: {tie_weights: true}}", ["`model.embeddings.tie`", "`all`"]),
        ("model: {n_heads: 2}", ["`model.attention.heads`"]),
        ("model: {attention: {num_heads: 2}}", ["`model.attention.heads`"]),
        ("model: {num_attention_heads: 2}", ["`model.attention.heads`"]),
        ("model: {hidden_size: 2}", ["`model.d_model`"]),
        ("model: {emb_dim: 2}", ["`model.d_model`"]),
        ("model: {n-embd: 2}", ["`model.d_model`"]),
        ("model: {hiddenSize: 2}", ["`model.d_model`"]),
        ("model: {ff_size: 2}", ["`model.feed_forward.d_ff`"]),
        ("model: {encoder-ffn-embed-dim: 2}", ["`model.encoder.feed_forward.d_ff`"]),
        ("model: {rope: true}", ["`model.positions`", "`rotary`"]),
        ("model: {prenorm: true}", ["`model.norm.placement`", "`pre`"]),
        ("model: {norm_first: False}", ["`model.norm.placement`", "`post`"]),
        ("model: {encoder: {layer_norm: pre}}", ["`model.encoder.norm.placement`", "`pre`"]),
        ("model: {share_embeddings: true}", ["`model.embeddings.tie`", "`source_target`"]),
        ("model: {rope_theta: 1e4}", ["`model.positions.base`, of `kind: rotary`"]),
        ("model: {decoder: {rope_theta: 1e4}}", ["`model.decoder.positions.base`, of `kind: rot"]),
        ("model: {positions: {kind: rotary, rope_theta: 1e4}}", ["called `model.positions.base`"]),
        ("model: {rope_scaling: {type: linear, factor: 2}}", ["of `kind: rotary`", "one number"]),
        ("model: {relative_attention_num_buckets: 32}", ["of `kind: relative_bias`"]),
        ("model: {relative_attention_max_distance: 32}", ["of `kind: relative_bias`"]),
        ("model: {max_relative_positions: 20}", ["of `kind: relative_keys`"]),
        ("model: {init_std: 0.02}", ["of `kind: normal` or `kind: depth_scaled`"]),
        (
            "model: {encoder: {globals: 2}}",
            ["`model.encoder.mask.global_tokens`, of `kind: window"],
        ),
        ("model: {attention_window: 512}", ["`model.encoder.mask.before`, of `kind: window`"]),
        (
            "model: {decoder: {sliding_window: 9}}",
            ["`model.decoder.mask.before`, of `kind: window"],
        ),
        (
            "model: {encoder: {mask: {kind: window, before: 3, globals: 1}}}",
            ["`model.encoder.mask.glo"],
        ),
        ("model: {encoder: {mask: longformer}}", ["kind: window", "global_tokens"]),
        ("model: {activation_function: gelu_new}", ["feed_forward.activation`", "`gelu_tanh`"]),
        ("model: {tied_softmax: true}", ["`model.embeddings.tie`", "`target_output`"]),
        ("model: {attention_dropout: 0}", ["`model.dropout.attention`"]),
        ("model: {pad_token_id: 0}", ["control ids"]),
        ("model: {max_position_embeddings: 512}", ["`model.positions.max_length`", "learned"]),
        ("model: {feed_forward: {hidden_size: 2}}", ["`model.feed_forward.d_ff`"]),
        ("model: {feed_forward: {inner_size: 2}}", ["`model.feed_forward.d_ff`"]),
        ("model: {feed_forward: {glu: true}}", ["`model.feed_forward.activation`", "`swiglu`"]),
        ("training: {steps: 1, gradient_clip: 1}", ["`training.clip`"]),
        ("training: {steps: 1, clip_norm: 1}", ["`training.clip`"]),
        ("training: {steps: 1, optimizer: {max_grad_norm: 1}}", ["`training.clip`"]),
        ("training: {steps: 1, warmup_ratio: 0.1}", ["`training.schedule.warmup`", "updates"]),
        ("training: {steps: 1, lr: 2}", ["`training.schedule.learning_rate`"]),
        ("training: {steps: 1, schedule: {kind: noam, lr: 2}}", ["`factor`"]),
        ("training: {steps: 1, warmup_updates: 2}", ["`training.schedule.warmup`"]),
        ("training: {steps: 1, bs: 2}", ["`training.batch_tokens`", "target tokens"]),
        ("training: {steps: 1, epochs: 2}", ["`training.steps`", "minutes"]),
        ("training: {steps: 1, adam_beta1: 0.9}", ["`training.optimizer.betas`"]),
        ("testing: {beam_size: 5}", ["`generation`"]),
        ("tokenizer: {kind: char, target: {voc_limit: 5}}", ["`tokenizer.target.vocab_size`"]),
        ("data: {valid: {src: a, trg: b}, train: {builtin: dates}}", ["`data.valid.source`"]),
        ("generation: {num_beams: 5}", ["`generation.beams`, of `kind: beam`"]),
        ("generation: {kind: beam, beam_size: 5}", ["`generation.beams`"]),
        ("generation: {size: 5}", ["`generation.beams`, of `kind: beam`"]),
        ("generation: {kind: beam, alpha: 1}", ["`generation.length_penalty`"]),
        ("generation: {kind: beam, lenpen: 1}", ["`generation.length_penalty`", "(5 + n) / 6"]),
        ("generation: {do_sample: true}", ["`generation.kind`", "`sampling`"]),
        ("generation: {generate_unk: false}", ["`generation.suppress_unknown`", "`true`"]),
        ("beam_size: 5", ["`generation.beams`, of `kind: beam`"]),
        ("generation: beam_search", ["`beam`"]),
        ("generation: greedy_search", ["`greedy`"]),
        ("export: {quantize: true}", ["`export.precision`", "`int8`"]),
        ("export: {precision: fp16}", ["`float16`"]),
        ("export: {precision: half}", ["`float16`"]),
        ("export: {precision: fp32}", ["`float32`"]),
        ("export: {precision: quantized}", ["`int8`"]),
        ("model: {positions: rope}", ["`rotary`"]),
        ("model: {norm: {placement: prenorm}}", ["`pre`"]),
        ("model: {embeddings: {tie: true}}", ["`all`"]),
        ("model: {feed_forward: {activation: glu}}", ["`swiglu`"]),
        ("training: {steps: 1, schedule: inverse_square_root}", ["`inverse_sqrt`"]),
        ("training: {steps: 1, validate: {metric: accuracy}}", ["`exact_match`"]),
        ("tokenizer: {source: characters, target: words}", ["`char`"]),
    ],
)
def test_a_foreign_name_leads_to_ours(refuse: Refuse, text: str, right: list[str]) -> None:
    problem = refuse(text)[0]
    assert all(word in problem.message for word in right)


@pytest.mark.parametrize(
    "text",
    [
        *(f"training: {{steps: 1, {key}: 1}}" for key in ("device", "gpu", "use_cuda", "fp16")),
        *(f"training: {{steps: 1, {key}: 1}}" for key in ("amp", "weight_decay", "precision")),
        *(f"generation: {{{key}: 5}}" for key in ("repetition_penalty", "min_p", "replace_unk")),
        "generation: {kind: beam, beta: 0.2}",
        "num_beam_groups: 5",
        "training: {steps: 1, optimizer: {weight_decay: 0.01}}",
    ],
)
def test_what_is_not_offered_is_said_to_be_so(refuse: Refuse, text: str) -> None:
    [problem] = refuse(text)
    assert "not offered" in problem.message
    assert "did you mean" not in problem.message


@pytest.mark.parametrize(
    ("toolkit", "names"),
    [
        ("JoeyNMT", "num_heads ff_size tied_embeddings tied_softmax scheduling batch_multiplier"),
        ("fairseq", "encoder-embed-dim share-all-embeddings max-tokens update-freq"),
        ("OpenNMT, Eole", "enc_layers transformer_ff share_decoder_embeddings accum_count"),
        ("transformers", "num_hidden_layers intermediate_size hidden_act tie_word_embeddings"),
        ("Sockeye", "transformer_model_size weight_tying_type initial_learning_rate shared_vocab"),
        (
            "Seq2SeqTrainingArguments",
            (
                "output_dir eval_strategy per_device_eval_batch_size weight_decay max_grad_norm "
                "num_train_epochs warmup_ratio save_strategy bf16 fp16 use_cpu optim report_to "
                "load_best_model_at_end generation_num_beams group_by_length resume_from_checkpoint"
            ),
        ),
        (
            "T5, BART, Marian",
            (
                "d_kv dropout_rate feed_forward_proj initializer_factor max_position_embeddings "
                "encoder_layerdrop scale_embedding init_std static_position_embeddings use_cache "
                "decoder_start_token_id relative_attention_num_buckets normalize_before"
            ),
        ),
        ("fairseq-generate", "lenpen unkpen min_len sampling_topk sampling_topp prefix_size"),
        ("generate", "num_beams do_sample num_return_sequences repetition_penalty bad_words_ids"),
        ("nanoGPT", "n_layer n_head n_embd block_size grad_clip"),
    ],
)
def test_the_common_names_of_a_toolkit_are_known(toolkit: str, names: str) -> None:
    assert [name for name in names.split() if not explain(name)] == []


def test_every_foreign_name_leads_to_a_key_that_exists() -> None:
    known = {"", *(key for key, _ in KEYS)}
    ours = {*RENAMED, *NOTED, *(ours for ours, _ in TRANSLATED.values())}
    assert {key.partition(" ")[0] for key in ours} <= known
    owners = {(dotted(path), kind) for path, kind, _ in every_owner(WrittenBlueprint)}
    assert {tuple(key.split()) for key in RENAMED if " " in key} <= owners


def test_every_translated_value_is_one_of_ours() -> None:
    for ours, values in TRANSLATED.values():
        allowed = [word for key, info in KEYS if key == ours for word in words(info.annotation)]
        assert set(values.values()) <= {*allowed, "true", "false"}


def test_no_foreign_name_is_ours_or_stands_twice() -> None:
    assert not {plain(key.rpartition(".")[2]) for key, _ in KEYS} & set(map(plain, NAMES))
    assert [name for name, count in Counter(map(plain, NAMES)).items() if count > 1] == []


def test_every_word_is_for_a_choice_of_ours() -> None:
    choices = [word for _, info in KEYS for word in words(info.annotation)]
    assert set(WORDS) <= set(choices)
    assert not {plain(word) for words in WORDS.values() for word in words.split()} & {
        plain(word) for word in choices
    }


def test_a_word_is_translated_only_into_what_is_allowed_there() -> None:
    assert translate("fixed", ["sinusoidal", "learned"]) == "sinusoidal"
    assert translate("fixed", ["noam", "constant"]) == "constant"
    assert translate("fixed", ["adam"]) == ""
