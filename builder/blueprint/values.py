"""What a user may have meant by a word that is no choice of its key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from builder.blueprint.nodes import KeyPath, dotted
from builder.blueprint.places import Place, choices, nearest_to, places
from builder.blueprint.slips import nearest
from builder.blueprint.synonyms import plain, translate

WINDOW = "write `{kind: window, before: 64, after: 64, global_tokens: 1}`"
FOREIGN = {
    "generation": {
        "not offered; nearest: `beam`": "diverse_beam_search group_beam_search mbr best_of_n",
        "not offered; nearest: `sampling`": "contrastive contrastive_search typical mirostat",
    },
    "precision": {
        "not offered: `float16` has as few bytes, with more digits": "bf16 bfloat16",
        "not offered: `int8` is the smallest": "int4 q4 4bit nf4 fp4 fp8 float8 float4",
        "not offered: training computes in float32": "float64 fp64 double mixed",
    },
    "weights": {
        "not offered: it overflows on processors without VNNI; nearest: `uint8`": "int8 qint8 s8",
    },
    "schedule": {
        "not offered: after its warm-up a rate falls with step^-0.5 (`noam`, `inverse_sqrt`) or "
        "stays as it is (`constant`)": (
            "linear cosine cosine_with_restarts polynomial exponential step multistep plateau "
            "reduce_lr_on_plateau one_cycle cyclic triangular tri_stage wsd"
        ),
        "write `constant`, and as its `warmup` 0": "none",
    },
    "optimizer": {
        "not offered: `adam`, without weight decay, is the only one": (
            "adamw sgd adafactor lamb lion rmsprop adagrad adadelta nadam radam muon sophia "
            "adamw_torch fused_adam shampoo"
        ),
    },
    "metric": {
        "write `exact_match`, which is 100 − WER where an output is one word, or `token_error`, "
        "the edits for each token": "wer word_error sequence_error",
        "not offered; nearest: `bleu` or `chrf`": "rouge rouge1 rouge2 rougel meteor ter comet",
        "not offered; nearest: `exact_match` or `token_error`": "f1 precision recall",
    },
    "tokenizer": {
        "not offered; nearest: `bpe`": "unigram wordpiece bbpe byte_bpe morfessor",
        "not offered; nearest: `char`": "byte utf8 grapheme",
    },
    "positions": {
        "not offered; nearest: `rotary`, with `scaling`": "yarn longrope ntk dynamic_ntk xpos",
        "not offered; nearest: `relative_bias` or `alibi`": "kerple fire deberta transformer_xl",
    },
    "mask": {
        WINDOW: "longformer bigbird sparse",
        "not offered; nearest: `window` or `block`": "dilated strided random axial lsh",
    },
    "norm": {
        "not offered; nearest: `layer_norm`": "batch_norm group_norm instance_norm power_norm",
        "not offered; nearest: `rms_norm`": "scale_norm l2_norm qk_norm",
        "not a choice: every sub-layer has one": "none",
    },
    "activation": {
        "not offered; nearest: `gelu_tanh`": "quick_gelu",
        "not offered; nearest: `silu`": "mish hardswish",
        "not offered; nearest: `gelu`": "tanh sigmoid elu selu leaky_relu prelu relu6 softplus",
    },
    "init": {
        "not offered; nearest: `xavier`": "kaiming kaiming_uniform he lecun orthogonal uniform",
        "not offered; nearest: `normal`": "truncated_normal trunc_normal zeros",
    },
    "attention": {
        "write `{kv_heads: 1}`": "mqa multi_query",
        "write `{kv_heads: 2}`, or how many share their keys and values": "gqa grouped_query",
        "not a choice: it would change speed alone": "flash flash_attention sdpa eager xformers",
    },
}
"""Words that other toolkits have and we have not, by our key and by what there is to say."""
EVERYWHERE = frozenset({"all", "none", "auto", "full", "word", "inputs", "defaults", "normal"})
"""Words that mean too much to be a reason to think of another key."""


def advise_word(word: str, allowed: Sequence[str], path: KeyPath) -> str:
    """What to do about a word under the key at `path` that is none of the `allowed` ones."""
    place = tuple(part for part in path if isinstance(part, str) and part != "kind")
    ours = translate(word, allowed)
    if ours:
        return f"did you mean `{ours}`?"
    known = _foreign().get((place[-1] if place else "", plain(word)))
    if known:
        return known
    elsewhere = _below(word, place) or _elsewhere(word, place, allowed)
    near = nearest(word, allowed)
    if near and not elsewhere:
        return f"did you mean `{near}`?"
    return elsewhere


def _below(word: str, place: Place) -> str:
    """The form of the section at `place` in which the word is the value of one of its keys."""
    found = {below[-1]: words for below, words in choices().items() if below[:-1] == place}
    for one_of in (_same, translate):
        for key, words in found.items():
            ours = one_of(word, words) if key != "kind" else ""
            if ours:
                return f"write `{place[-1]}: {{{key}: {ours}}}`"
    return ""


def _elsewhere(word: str, place: Place, allowed: Sequence[str]) -> str:
    """The keys that the word is a value of, those nearest to `place`, if words can stand there."""
    if word in EVERYWHERE or not (allowed or _has_keys(place)):
        return ""
    found = {
        home: ours
        for home, words in choices().items()
        if home[-1] != "kind" and home != place and (ours := _same(word, words))
    }
    near = list(dict.fromkeys(nearest_to(place, found)))
    names = " or ".join(f"`{dotted(home)}`" for home in near)
    return f"`{found[near[0]]}` is a value of {names}" if near else ""


def _has_keys(place: Place) -> bool:
    return any(below[:-1] == place for below in places())


def _same(word: str, allowed: Iterable[str]) -> str:
    """The word among the allowed ones that `word` is."""
    return next((each for each in allowed if plain(each) == plain(word)), "")


@cache
def _foreign() -> dict[tuple[str, str], str]:
    return {
        (key, plain(word)): advice
        for key, said in FOREIGN.items()
        for advice, words in said.items()
        for word in words.split()
    }
