"""What other toolkits call our choices."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

WORDS = {
    "sinusoidal": "sine sinusoid sincos sin fixed absolute",
    "learned": "learnt trainable trained embedding",
    "rotary": "rope rotary_embedding",
    "none": "no_positions no_tying false",
    "full": "bidirectional global all_to_all",
    "causal": "autoregressive triangular unidirectional",
    "window": "local sliding sliding_window windowed",
    "layer_norm": "ln standard",
    "rms_norm": "rms t5",
    "pre": "prenorm pre_norm pre_ln before true",
    "post": "postnorm post_norm post_ln after false",
    "sandwich": "sandwich_norm peri both",
    "alibi": "linear_bias",
    "relative_bias": "t5 relative bucketed relative_position_bias",
    "relative_keys": "shaw relative_position",
    "block": "chunk chunked blockwise",
    "prefix": "prefix_lm",
    "xavier": "glorot xavier_uniform glorot_uniform",
    "normal": "gaussian",
    "depth_scaled": "gpt2 scaled",
    "gelu_tanh": "gelu_new gelu_fast gelu_pytorch_tanh gelu_approximate",
    "silu": "swish",
    "relu_squared": "relu2 squared_relu relu_square",
    "geglu": "gated_gelu gelu_glu",
    "geglu_tanh": "gated_gelu_new",
    "reglu": "gated_relu",
    "swiglu": "glu silu_glu swish_glu gated_silu",
    "all": "tied three_way src_trg_softmax shared true",
    "source_target": "src_trg src_tgt",
    "source_output": "src_softmax",
    "target_output": "trg_softmax tgt_softmax",
    "char": "character",
    "word": "whitespace",
    "bpe": "sentencepiece spm subword",
    "noam": "transformer",
    "inverse_sqrt": "rsqrt inv_sqrt isr inverse_square_root",
    "constant": "constant_with_warmup fixed flat",
    "greedy": "greedy_search greedy_decoding argmax best_first",
    "beam": "beam_search beamsearch beam_decode",
    "sampling": "sample random random_sampling do_sample multinomial nucleus",
    "float32": "fp32 f32 float single 32",
    "float16": "fp16 f16 half 16",
    "int8": "8 i8 qint8 w8 8bit quantized quantised quantize quantization dynamic",
    "uint8": "quint8 unsigned",
    "int7": "reduce_range reduced 7bit",
    "inputs": "required explicit",
    "defaults": "optional initializers overridable",
    "bleu": "sacrebleu bleu4",
    "loss": "ppl perplexity nll cross_entropy",
    "exact_match": "accuracy acc sequence_accuracy seq_acc",
    "token_error": "per",
    "char_error": "cer",
}
"""Words for a choice, under ours."""


def translate(word: str, choices: Iterable[str]) -> str:
    """The choice that others call `word`; empty if there is none."""
    return next((ours for ours in choices if plain(word) in _words_for(ours)), "")


def plain(word: str) -> str:
    """A word without what people vary: case, underscores, plural."""
    return word.lower().replace("_", "").replace("-", "").rstrip("s")


@cache
def _words_for(ours: str) -> frozenset[str]:
    return frozenset(map(plain, WORDS.get(ours, "").split()))
