"""Names of other toolkits without an exact counterpart: the nearest of ours, or why none is."""

from __future__ import annotations

NOTED = {
    "training.batch_tokens": (
        (
            "batch_size bs max_sentences max_tokens train_batch_size per_device_train_batch_size "
            "tokens_per_batch"
        ),
        "it counts the target tokens of one update",
    ),
    "training.microbatch_tokens": (
        (
            "accum_count accum_steps grad_accum accumulation_steps gradient_accumulation_steps "
            "update_freq update_interval batch_multiplier"
        ),
        "it gives the positions of one forward pass, not a number of passes",
    ),
    "training.optimizer.betas": ("beta1 beta2 adam_beta1 adam_beta2", "a list of the two"),
    "training.validate.every": (
        "eval_strategy evaluation_strategy validate_interval",
        "it counts updates",
    ),
    "training.checkpoint.every": ("save_strategy save_interval", "it counts updates"),
    "training.checkpoint.average": (
        "ema average_decay average_every",
        "it averages the newest checkpoints at the end",
    ),
    "training.schedule.warmup": ("warmup_ratio", "it counts updates; it is no share of them"),
    "training.clip": ("clip_value clip_grad_val clip_grad_value", "it limits the norm"),
    "training.minutes": ("max_time time_limit max_minutes hours max_hours", "it counts minutes"),
    "model.positions.max_length": (
        "max_position_embeddings max_positions n_positions num_positions",
        "other positions end nowhere",
    ),
    "model.init": (
        (
            "init_method initializer init_gain embed_init_gain param_init param_init_glorot "
            "param_init_method bias_initializer embed_initializer initializer_factor"
        ),
        "one recipe for all weights",
    ),
    "model.positions.scaling": ("rope_scaling", "one number, which divides the positions"),
    "model.encoder.mask.before": (
        (
            "window window_size window_left sliding_window attention_window local_window "
            "local_attention_window"
        ),
        "`before` and `after` count the neighbours of one side each",
    ),
    "model.positions": (
        "relative_position_bias use_alibi relative_positions_buckets",
        "`alibi`, `relative_bias` and `relative_keys` are kinds",
    ),
    "generation.length_penalty": (
        "lenpen length_penalty_weight",
        "the exponent of (5 + n) / 6, where others have that of n",
    ),
    "generation.suppress_tokens": (
        "bad_words_ids bad_words begin_suppress_tokens",
        "tokens as text, one each",
    ),
    "generation.suppress_unknown": ("unkpen unk_penalty", "it bars the unknown mark"),
    "generation.min_length": ("min_new_tokens", "it counts EOS"),
    "generation.target_prefix": (
        "prefix_size prefix_tokens tgt_prefix decoder_prompt forced_decoder_ids decoder_input_ids",
        "with `true`, the exported file has an input of that name",
    ),
    "export.precision.weights": (
        "reduce_range per_channel weight_type quant_type",
        "every channel has a scale of its own",
    ),
    "data.train.columns": ("header has_header", "names tell that the first line is a header"),
    "training.steps": (
        "epochs num_epochs max_epochs num_train_epochs n_epochs",
        "it counts updates; or give `training.minutes`",
    ),
    "": (
        (
            "pad_id eos_id bos_id unk_id pad_token_id eos_token_id bos_token_id padding_idx "
            "pad_token eos_token bos_token unk_token special_tokens special_symbols "
            "add_eos add_bos decoder_start_token_id forced_bos_token_id forced_eos_token_id"
        ),
        "the control ids (pad, bos, eos, unk) are fixed, four rows of every vocabulary",
    ),
}
"""Names that have no exact counterpart, under the nearest of ours, with the difference."""

ABSENT = {
    # training
    "not offered yet: training runs on the processor": (
        "device gpu n_gpu num_gpus gpu_ranks cuda use_cuda no_cuda use_cpu cpu "
        "accelerator world_size distributed_world_size local_rank ddp_backend"
    ),
    "not offered yet: training computes in float32": (
        "fp16 bf16 tf32 amp use_amp half float16 bfloat16 mixed_precision fp16_opt_level "
        "apex_opt_level memory_efficient_fp16 dtype torch_dtype model_dtype compute_dtype"
    ),
    "not offered yet: the optimiser is Adam without weight decay": (
        "weight_decay weight_decay_rate l2 momentum amsgrad fused adafactor"
    ),
    "not offered: a schedule has a `warmup`, but neither a floor nor steps": (
        "min_lr lr_min stop_min_lr learning_rate_min min_learning_rate warmup_init_lr "
        "learning_rate_decay lr_decay decrease_factor start_decay_steps decay_steps gamma "
        "step_size lr_scheduler_kwargs"
    ),
    "not a choice: pairs of like length share a batch, and mix anew in every epoch": (
        "batch_type group_by_length sortish_sampler bucket_size shuffle drop_last "
        "dataloader_drop_last num_workers dataloader_num_workers preprocessing_num_workers "
        "prefetch_factor auto_find_batch_size"
    ),
    "not offered: it would change memory and speed alone": (
        "eval_batch_size valid_batch_size per_device_eval_batch_size gradient_checkpointing "
        "torch_compile compile deepspeed fsdp use_cache"
    ),
    "not a choice: `log.jsonl` in the run folder tells what happens": (
        "logging_freq logging_steps logging_dir logging_strategy log_every log_interval log_format "
        "log_level report_every report_to tensorboard tensorboard_log_dir wandb "
        "print_valid_sents"
    ),
    "not in a blueprint: `transom train` takes `--out DIR`, and `--overwrite` replaces a run": (
        "model_dir output_dir save_dir out out_dir save_model model_path checkpoint_dir save_data "
        "overwrite overwrite_output_dir log_dir"
    ),
    "not in a blueprint: `transom train --resume --out DIR` goes on with a run": (
        "train_from resume resume_from_checkpoint restore_file load_model reset_optimizer "
        "reset_scheduler reset_best_ckpt reset_iter_state"
    ),
    "not in a blueprint: `transom train` and `transom evaluate` are commands": (
        "do_train do_eval do_predict predict_with_generate eval_bleu eval_bleu_args"
    ),
    "not a choice: a run holds the best weights by `training.validate.metric`": (
        "load_best_model_at_end keep_best keep_best_checkpoints save_best best greater_is_better "
        "maximize_best_checkpoint_metric"
    ),
    "not a choice: it is cross-entropy, smoothed by `training.label_smoothing`": (
        "loss criterion loss_type"
    ),
    "not offered yet: every training begins with random weights": (
        "start_from finetune_from_model pretrained load_pretrained freeze"
    ),
    # generation
    "not offered: `length_penalty` alone changes what the model thinks of an output": (
        "num_beam_groups diversity_penalty diversity_rate coverage_penalty stepwise_penalty "
        "repetition_penalty penalty_alpha"
    ),
    "not offered: `temperature`, `top_k` and `top_p` alone change a draw": (
        "min_p typical_p epsilon_cutoff eta_cutoff"
    ),
    "not offered: `target_prefix` forces a beginning, and nothing else is forced": (
        "force_words_ids constraints encoder_no_repeat_ngram_size"
    ),
    "not offered: `suppress_unknown` bars the unknown mark, but nothing takes its place": (
        "replace_unk"
    ),
    # model
    "every model is an encoder-decoder Transformer": (
        "arch architecture model_type encoder_type decoder_type self_attn_type "
        "rnn_type input_feeding global_attention is_encoder_decoder"
    ),
    "not offered": (
        "layerdrop encoder_layerdrop decoder_layerdrop parallel_residual shared_layer_norm "
        "adaptive_softmax_cutoff adaptive_softmax_dropout quant_noise_pq cross_self_attention "
        "no_cross_attention attention_dilation attention_mode"
    ),
    # data and tokenizer
    "not needed: a side is whatever its files hold": (
        "lang language source_lang target_lang source_language target_language src_lang tgt_lang "
        "trg_lang"
    ),
    "not a choice: tables are tab-separated, and all text is UTF-8": (
        "delimiter separator sep encoding"
    ),
    "not offered: a vocabulary is learned from the training text; `vocab_size` limits it": (
        "src_vocab tgt_vocab trg_vocab voc_file vocab_file model_file voc_min_freq min_freq "
        "min_frequency character_coverage bpe_dropout"
    ),
    "not a choice: text is brought to NFC and single spaces; `lowercase` lowers it": (
        "normalize normalizer pretokenizer pretokenize remove_bpe"
    ),
    # export
    "not a choice: batch and lengths are open": "dynamic_axes dynamic_shapes",
}
"""Names by what there is to say of them. Once one of a group is a key of ours, all of it moves."""
