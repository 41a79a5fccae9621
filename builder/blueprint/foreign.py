"""What other toolkits call things, and what that is here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from builder.blueprint.inexact import ABSENT, NOTED
from builder.blueprint.synonyms import plain
from builder.blueprint.ties import TIES

RENAMED = {
    "transom": "version format_version",
    "extends": "inherits include parent",
    "name": "experiment experiment_name run_name project",
    "model.layers": (
        "num_layers n_layers depth num_hidden_layers num_blocks num_transformer_layers"
    ),
    "model.encoder.layers": "num_encoder_layers n_encoder_layers encoder_layers enc_layers",
    "model.decoder.layers": "num_decoder_layers n_decoder_layers decoder_layers dec_layers",
    "model.d_model": (
        "hidden_size hidden_dim emb_dim embed_dim embedding_dim embedding_size emb_size dim n_embd "
        "n_embed model_dim model_size rnn_size word_vec_size transformer_model_size units width "
        "encoder_embed_dim decoder_embed_dim"
    ),
    "model.attention.heads": (
        "n_heads num_heads num_attention_heads attention_heads transformer_attention_heads"
    ),
    "model.encoder.attention.heads": "encoder_attention_heads num_encoder_heads",
    "model.decoder.attention.heads": "decoder_attention_heads num_decoder_heads",
    "model.attention.d_k": "head_dim d_head key_dim dim_head d_kv head_size",
    "model.attention.d_v": "value_dim",
    "model.attention.kv_heads": (
        "n_kv_heads heads_kv num_kv_heads num_key_value_heads multiquery num_kv_groups"
    ),
    "model.attention.qk_norm": "qk_layernorm use_qk_norm qk_rmsnorm",
    "model.attention.softcap": "logit_cap attn_logit_softcapping logit_softcapping logits_soft_cap",
    "model.attention.scale": "softmax_scale query_pre_attn_scalar attention_scale",
    "model.attention.bias": "attention_bias qkv_bias add_qkvbias",
    "model.feed_forward.d_ff": (
        "ff_size ffn_dim ffn_size ff_dim intermediate_size dim_feedforward feed_forward_size "
        "d_inner d_hidden transformer_ff filter_size inner_dim ffn_embed_dim n_inner "
        "transformer_feed_forward_num_hidden"
    ),
    "model.feed_forward.bias": "mlp_bias ffn_bias add_ffnbias",
    "model.encoder.feed_forward.d_ff": "encoder_ffn_dim encoder_ffn_embed_dim",
    "model.decoder.feed_forward.d_ff": "decoder_ffn_dim decoder_ffn_embed_dim",
    "model.feed_forward.activation": (
        "activation_function hidden_act act activation_fn mlp_activation_fn act_fn ff_activation "
        "feed_forward_proj dense_act_fn"
    ),
    "model.norm": "norm_type normalization normalization_layer",
    "model.norm.final": "final_norm add_final_layer_norm final_layer_norm",
    "model.share_layers": "cross_layer_sharing share_all_layers tie_layers universal",
    "model.init": "weight_init weights_init",
    "model.init.std": "init_std initializer_range",
    "model.norm.eps": "layer_norm_eps layer_norm_epsilon norm_eps rms_norm_eps",
    "model.positions": (
        "position_encoding positional_encoding pos_enc position_embedding position_embedding_type "
        "position_encoding_type transformer_positional_embedding_type pos_emb "
        "positional_embedding pos_embedding"
    ),
    "model.positions.buckets": "relative_attention_num_buckets num_buckets",
    "model.positions.max_distance relative_bias": (
        "relative_attention_max_distance max_relative_distance"
    ),
    "model.positions.max_distance relative_keys": "max_relative_positions relative_positions_range",
    "model.positions.fraction": "partial_rotary_factor rotary_pct rotary_percentage",
    "model.positions.base rotary": "rope_theta rotary_base rotary_theta theta rope_base",
    "model.dropout": (
        "dropout_rate drop_rate dropout_prob p_dropout pdrop dropout_p transformer_dropout"
    ),
    "model.dropout.residual": (
        "hidden_dropout hidden_dropout_prob resid_pdrop residual_dropout "
        "transformer_dropout_prepost"
    ),
    "model.dropout.embedding": "embed_dropout embedding_dropout emb_dropout embd_pdrop",
    "model.dropout.attention": (
        "attention_dropout attn_dropout attn_pdrop attention_probs_dropout_prob "
        "transformer_dropout_attention"
    ),
    "model.dropout.activation": (
        "activation_dropout relu_dropout ff_dropout ffn_dropout transformer_dropout_act"
    ),
    "model.decoder.cross_attention": "cross_attn encoder_attn encoder_attention",
    "model.encoder.mask.global_tokens": (
        "globals num_globals num_global_tokens global_attention_tokens n_global"
    ),
    "model.embeddings.tie": "weight_tying weight_tying_type tying",
    "model.embeddings.norm": (
        "layernorm_embedding normalize_embedding embedding_norm embedding_layer_norm"
    ),
    "model.embeddings.output.bias": (
        "output_bias add_bias_logits add_final_linear_bias final_logits_bias"
    ),
    "model.embeddings.scale": "scale_embedding embedding_scale",
    "model.vocab_size": "vocabulary_size n_vocab num_tokens n_tokens",
    "model.vocab_size.source": "src_vocab_size source_vocab_size encoder_vocab_size",
    "model.vocab_size.target": "tgt_vocab_size target_vocab_size decoder_vocab_size",
    "tokenizer": "tokenization subword tokenizer_type tokenizer_config",
    "tokenizer.kind": "level bpe_type tokenizer_class",
    "tokenizer.vocab_size": "voc_limit bpe_codes num_merges num_words vocab_limit",
    "tokenizer.lowercase": "do_lower_case lowercasing lower",
    "tokenizer.shared": "share_vocab shared_vocab joint_vocab joined_dictionary shared_vocabulary",
    "data": "dataset corpus",
    "data.max_length": ("max_len max_seq_len max_seq_length block_size n_ctx"),
    "data.max_length.source": (
        "src_seq_length max_source_positions max_source_length max_length_source"
    ),
    "data.max_length.target": (
        "tgt_seq_length max_target_positions max_target_length max_length_target"
    ),
    "data.train": "training_data train_file train_set",
    "data.valid": (
        "dev validation val valid_set validation_file validation_data dev_set "
        "validation_source validation_target"
    ),
    "data.train.source": "src path_src src_train train_src",
    "data.train.target": "trg tgt path_tgt path_trg trg_train tgt_train train_tgt train_trg",
    "training": "trainer train_config fit learning",
    "training.steps": (
        "max_steps train_steps total_steps max_updates num_steps updates iterations max_iters"
    ),
    "training.schedule": (
        "scheduler lr_scheduler lr_scheduler_type learning_rate_scheduler scheduling "
        "learning_rate_scheduler_type decay_method lr_schedule"
    ),
    "training.schedule.learning_rate": (
        "lr max_lr peak_lr base_lr initial_learning_rate learning_rate_peak"
    ),
    "training.schedule.warmup": (
        "warmup_steps warmup_updates n_warmup num_warmup_steps learning_rate_warmup lr_warmup"
    ),
    "training.schedule.factor": "learning_rate_factor lr_factor noam_factor",
    "training.optimizer": "optim optimiser",
    "training.optimizer.eps": "adam_eps adam_epsilon",
    "training.optimizer.betas": "adam_betas optimizer_betas",
    "training.label_smoothing": "smoothing label_smoothing_factor smoothing_value",
    "training.clip": (
        "grad_clip max_grad_norm clip_norm gradient_clipping clip_grad_norm gradient_clip_val "
        "gradient_clipping_threshold gradient_clip gradient_clip_norm clip_gradient clip_grad "
        "max_norm grad_norm"
    ),
    "training.validate": "validation_config evaluation evaluate",
    "training.validate.every": (
        "validation_freq valid_steps eval_steps validate_interval_updates eval_every eval_interval"
    ),
    "training.validate.metric": (
        "eval_metric early_stopping_metric best_checkpoint_metric metric_for_best_model "
        "optimized_metric early_stopping_criteria"
    ),
    "training.validate.patience": (
        "early_stopping early_stopping_patience max_num_checkpoint_not_improved"
    ),
    "training.validate.pairs": "sample_dev_subset max_eval_samples",
    "training.checkpoint.every": (
        "save_steps save_checkpoint_steps save_interval_updates checkpoint_interval save_every"
    ),
    "training.checkpoint.keep": (
        "keep_last_ckpts keep_best_ckpts keep_checkpoint keep_last_epochs keep_interval_updates "
        "save_total_limit keep_last_params"
    ),
    "training.seed": "random_seed manual_seed data_seed",
    "training.threads": "num_threads n_threads",
    "generation": "testing decoding inference generate search",
    "generation.max_length.ratio": "max_len_a max_length_ratio",
    "generation.max_length.plus": "max_len_b max_new_tokens max_output_length",
    "generation.min_length": "min_len min_output_length min_target_length min_decoder_length",
    "generation.no_repeat_ngram_size": "no_repeat_ngram block_ngram_repeat",
    "generation.beams": "beam_size beam_width num_beams n_beams generation_num_beams",
    "generation.n_best": "num_return_sequences num_hypotheses num_samples",
    "generation.length_penalty": "beam_alpha length_penalty_alpha",
    "generation.temperature": "random_sampling_temp sampling_temperature",
    "generation.top_k": "random_sampling_topk sampling_topk",
    "generation.top_p": "random_sampling_topp sampling_topp nucleus_p",
    "export.opset": "opset_version target_opset onnx_opset",
}
"""Names whose value means the same here, under ours; its `kind` after that where more have it."""

YES = ("true", "yes", "1")
NO = ("false", "no", "0")

TRANSLATED: dict[str, tuple[str, dict[tuple[str, ...], str]]] = {
    "norm_first normalize_before pre_norm pre_layer_norm pre_ln encoder_normalize_before "
    "decoder_normalize_before": ("model.norm.placement", {YES: "pre", NO: "post"}),
    "sandwich_norm": ("model.norm.placement", {YES: "sandwich", NO: "pre"}),
    "deep_norm use_deepnorm": ("model.norm.placement", {YES: "deepnorm", NO: "post"}),
    "post_norm": ("model.norm.placement", {YES: "post", NO: "pre"}),
    "layer_norm_position norm_position normalization_position": (
        "model.norm.placement",
        {("pre", "prenorm", "before"): "pre", ("post", "postnorm", "after"): "post"},
    ),
    "layer_norm": ("model.norm.placement", {("pre", *YES): "pre", ("post", *NO): "post"}),
    "rms_norm use_rmsnorm": (
        "model.norm",
        {YES: "rms_norm", NO: "layer_norm"},
    ),
    "rope use_rope rotary rotary_pos_emb rotary_embedding use_rotary": (
        "model.positions",
        {YES: "rotary"},
    ),
    "encoder_learned_pos decoder_learned_pos learned_pos learned_positions": (
        "model.positions",
        {YES: "learned", NO: "sinusoidal"},
    ),
    "no_token_positional_embeddings no_positions": ("model.positions", {YES: "none"}),
    "static_position_embeddings": ("model.positions", {YES: "sinusoidal", NO: "learned"}),
    "ff_glu use_swiglu swiglu ff_swish glu gated is_gated_act": (
        "model.feed_forward.activation",
        {YES: "swiglu"},
    ),
    "do_sample random_sampling sampling sample": (
        "generation.kind",
        {YES: "sampling", NO: "greedy"},
    ),
    "beam_search": ("generation.kind", {YES: "beam", NO: "greedy"}),
    "greedy greedy_search greedy_decoding": ("generation.kind", {YES: "greedy", NO: "beam"}),
    "generate_unk": ("generation.suppress_unknown", {YES: "false", NO: "true"}),
    "ban_unk_token": ("generation.suppress_unknown", {YES: "true", NO: "false"}),
    "quantize quantise quantization quantized int8": (
        "export.precision",
        {("dynamic", "static", "8bit", "8", "qint8", *YES): "int8", NO: "float32"},
    ),
    "no_scale_embedding": ("model.embeddings.scale", {YES: "false", NO: "true"}),
}
"""Names whose value is another here: ours, and for their values our values."""


@dataclass(frozen=True)
class Foreign:
    """A name of another toolkit, explained."""

    ours: str = ""
    """Our key path; empty where there is none."""
    kind: str = ""
    """Of the section that has it, where the name says more than the key."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Our values by theirs, in lower case; what is not among them means the same here."""
    note: str = ""


def explain(name: str) -> Foreign | None:
    """What the name is here; None for one that no toolkit is known to use."""
    return _table().get(plain(name))


@cache
def _table() -> dict[str, Foreign]:
    table: dict[str, Foreign] = {}

    def put(names: str, foreign: Foreign) -> None:
        table.update(dict.fromkeys(map(plain, names.split()), foreign))

    for ours, names in RENAMED.items():
        place, _, kind = ours.partition(" ")
        put(names, Foreign(place, kind))
    for names in TIES.values():
        put(names, Foreign("model.embeddings.tie"))
    for names, (ours, values) in TRANSLATED.items():
        put(
            names,
            Foreign(
                ours, values={their: our for theirs, our in values.items() for their in theirs}
            ),
        )
    for ours, (names, note) in NOTED.items():
        put(names, Foreign(ours, note=note))
    for note, names in ABSENT.items():
        put(names, Foreign(note=note))
    return table
