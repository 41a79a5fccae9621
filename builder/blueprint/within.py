"""Names that have a meaning of their own in one section, and keys that are missing there."""

from __future__ import annotations

REASONS = {
    ("cross_attention", "positions"): "cross-attention has no positions of its own",
    ("cross_attention", "mask"): "cross-attention sees the whole source; it has no mask of its own",
    ("noam", "learning_rate"): "`noam` sets the rate by itself; scale it with `factor`",
    ("training", "precision"): "not offered yet: training computes in float32",
    ("training", "normalization"): "not a choice: the loss is a mean over the tokens of an update",
    ("tokenizer", "normalization"): "not a choice: text is brought to NFC and single spaces",
    ("tokenizer", "dropout"): "not offered: a tokenizer cuts a text always alike",
    ("export", "format"): "not a choice: the file is ONNX",
    ("export", "optimize"): "not a choice: the file is as quick as it can be",
    ("generation", "beta"): "not offered: what of the source is covered has no part in a score",
    ("generation", "patience"): "not a choice: a source is done with its `beams` finished outputs",
} | dict.fromkeys(
    (("export", key) for key in ("path", "output", "out", "file", "filename", "name")),
    "not in a blueprint: `transom export` takes `--out FILE`",
)
"""Why a key that could be expected does not exist, by its section and name."""

FILES = {
    "data.train.path": "file files filename",
    "data.train.columns": "column source_column target_column src_col tgt_col trg_col",
}
WITHIN = {
    "": {
        "data.train.source": "source",
        "data.train.target": "target",
        "data.train.path": "path file",
    },
    "embeddings": {
        "model.embeddings.tie": "share shared sharing tied tying",
        "model.d_model": "size width",
    },
    "feed_forward": {
        "model.feed_forward.d_ff": "hidden_size hidden_dim dim size inner_size units width d_model"
    },
    "attention": {
        "model.attention.d_k": "hidden_size hidden_dim dim size units width d_model",
        "model.dropout.attention": "dropout",
    },
    "mask": {"model.encoder.mask.before": "window left", "model.encoder.mask.after": "right"},
    "positions": {"model.positions.max_length": "max_len max_seq_len size block_size n_ctx"},
    "norm": {"model.norm.eps": "epsilon", "model.norm.placement": "position order"},
    "dropout": {
        "model.dropout.residual": "hidden resid",
        "model.dropout.attention": "attn",
        "model.dropout.activation": "ffn ff feed_forward",
    },
    "tokenizer": {"tokenizer.vocab_size": "size vocab merges", "tokenizer.kind": "model_type"},
    "optimizer": {"training.optimizer.eps": "epsilon"},
    "validate": {"training.validate.every": "steps every_steps freq frequency interval"},
    "checkpoint": {
        "training.checkpoint.every": "steps every_steps freq frequency interval",
        "training.checkpoint.keep": "last keep_last",
        "training.checkpoint.average": "averaging",
    },
    "generation": {
        "generation.max_length": "max_len",
        "generation.kind": "search decoding",
        "generation.beams": "size width",
        "generation.length_penalty": "alpha normalize",
        "generation.temperature": "temp",
    },
    "export": {"export.precision": "half fp16 float16 dtype torch_dtype"},
    "precision": {"export.precision.max_drop": "tolerance max_loss threshold bound"},
    "train": FILES,
    "valid": FILES,
    "test": FILES,
}
"""Names that mean something of its own in one section: under ours, by the section's last key."""
KIND = frozenset({"type", "name", "method", "strategy", "algorithm", "mode", "class"})
"""What others call the `kind` of a section."""
LOCAL = frozenset({"source", "target", "path", "columns", "ratio", "plus"})
"""Keys that are no reason to think of another section."""
