"""What a user may have meant by a key or word that does not exist."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from itertools import takewhile

from builder.blueprint.blueprint import WrittenBlueprint
from builder.blueprint.fields import walk_schema
from builder.blueprint.nodes import KeyPath, dotted

FOREIGN = {
    "model.layers": "num_layers n_layers n_layer depth num_hidden_layers",
    "model.encoder.layers": "num_encoder_layers n_encoder_layers encoder_layers enc_layers",
    "model.decoder.layers": "num_decoder_layers n_decoder_layers decoder_layers dec_layers",
    "model.d_model": (
        "hidden_size hidden_dim emb_dim embed_dim embedding_dim embedding_size emb_size dim "
        "n_embd model_dim rnn_size units"
    ),
    "model.attention.heads": (
        "n_heads num_heads n_head num_head nhead num_attention_heads attention_heads"
    ),
    "model.attention.d_k": "head_dim d_head key_dim dim_head",
    "model.feed_forward.d_ff": (
        "ff_size ffn_dim ffn_size ff_dim intermediate_size dim_feedforward feed_forward_size "
        "d_inner transformer_ff filter_size"
    ),
    "model.feed_forward.activation": "activation_function hidden_act act activation_fn",
    "model.norm.placement": "norm_first normalize_before pre_norm layer_norm_position",
    "model.norm.eps": "layer_norm_eps norm_eps",
    "model.positions": "position_encoding positional_encoding pos_enc position_embedding",
    "model.embeddings.tie": "tie_weights tie_embeddings tied_embeddings share_embeddings",
    "model.vocab_size": "vocabulary_size n_vocab src_vocab_size tgt_vocab_size",
    "data.max_length": "max_len max_seq_len max_seq_length max_position_embeddings block_size",
    "data.valid": "dev validation val eval",
    "data.train.source": "src",
    "data.train.target": "trg tgt",
    "training.batch_tokens": "bs batch_size max_tokens train_batch_size",
    "training.microbatch_tokens": "accum_count grad_accum accumulation_steps update_freq",
    "training.steps": "max_steps train_steps total_steps max_updates num_steps",
    "training.schedule": "scheduler lr_scheduler learning_rate_scheduling decay_method",
    "training.schedule.learning_rate": "lr max_lr peak_lr base_lr",
    "training.schedule.warmup": "warmup_steps warmup_updates n_warmup num_warmup_steps",
    "training.optimizer": "optim optimiser",
    "training.optimizer.eps": "adam_eps",
    "training.optimizer.betas": "adam_betas",
    "training.label_smoothing": "smoothing",
    "training.clip": "grad_clip max_grad_norm clip_norm gradient_clipping clip_grad_norm",
    "training.validate.patience": "early_stopping early_stopping_patience",
    "training.seed": "random_seed manual_seed",
    "training.threads": "num_threads n_threads",
}
"""Names of other toolkits, under ours."""

REASONS = {
    ("cross_attention", "positions"): "cross-attention has no positions of its own",
    ("cross_attention", "mask"): "cross-attention sees the whole source; it has no mask of its own",
    ("noam", "learning_rate"): "`noam` sets the rate by itself; scale it with `factor`",
}
"""Why a key that could be expected does not exist, by its section and name."""


def nearest(word: str, choices: Iterable[str]) -> str:
    """The choice that `word` may have been meant to be; empty if none is near."""
    plain = {_plain(choice): choice for choice in choices}
    match = get_close_matches(_plain(word), plain, n=1, cutoff=0.7)
    return plain[match[0]] if match else ""


def advise(key: str, keys: Iterable[str], path: KeyPath) -> str:
    """What to do about an unknown `key` of the section at `path`, which has `keys`."""
    near = nearest(key, keys)
    if near and _plain(near) == _plain(key):
        return f"did you mean `{near}`?"
    homes = _homes(key, path)
    if homes:
        return f"it belongs in {' or '.join(homes)}"
    ours = _foreign().get(key.lower().replace("-", "_"))
    if ours:
        return f"here it is called `{ours}`"
    if near:
        return f"did you mean `{near}`?"
    elsewhere = nearest(key, _places())
    if elsewhere:
        return f"did you mean `{elsewhere}` in {' or '.join(_homes(elsewhere, path))}?"
    return f"allowed: {', '.join(keys) or 'nothing'}"


def reason(key: str, section: str, kind: str) -> str:
    """Why `key` does not exist there; empty where no reason is worth a word."""
    return REASONS.get((kind, key)) or REASONS.get((section, key), "")


@cache
def _foreign() -> dict[str, str]:
    return {name: ours for ours, names in FOREIGN.items() for name in names.split()}


@cache
def _places() -> dict[str, list[tuple[str, ...]]]:
    """The paths of every key of the language, by the plain form of the key."""
    places: dict[str, list[tuple[str, ...]]] = {}
    for path, _ in walk_schema(WrittenBlueprint):
        if path[-1] != "kind":
            places.setdefault(_plain(str(path[-1])), []).append(tuple(map(str, path)))
    return places


def _homes(key: str, path: KeyPath) -> list[str]:
    """The sections that have `key`, those nearest to `path`."""

    def distance(place: tuple[str, ...]) -> tuple[int, int]:
        pairs = zip(place, path, strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        return -shared, len(place)

    places = _places().get(_plain(key), [])
    best = min(map(distance, places), default=None)
    nearby = [dotted(place[:-1]) for place in places if distance(place) == best]
    return [f"`{home}`" if home else "the top level" for home in dict.fromkeys(nearby)]


def _plain(word: str) -> str:
    """A word without what people vary: case, underscores, plural."""
    return word.lower().replace("_", "").replace("-", "").rstrip("s")
