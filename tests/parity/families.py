"""Published architectures as the `transformers` library builds them, beside our blueprints.

For each: the bundled blueprint, the library's classes and sizes, and what its weights are called
here. The names are rewritten one rule after the other; what no rule touches is called alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Rules = tuple[tuple[str, str], ...]
"""Pairs of a regular expression and what stands for it here."""

BART: Rules = (
    (r"^model\.", ""),
    (r"^shared\.weight", "output"),
    (r"^encoder\.embed_positions", "source_embedding.positions.table"),
    (r"^decoder\.embed_positions", "target_embedding.positions.table"),
    (r"^encoder\.layernorm_embedding", "source_embedding.norm"),
    (r"^decoder\.layernorm_embedding", "target_embedding.norm"),
    (r"^(encoder|decoder)\.layer_norm", r"\1.final_norm"),
    (r"^(encoder\..*)self_attn_layer_norm", r"\1attention_residual.norm"),
    (r"^(decoder\..*)self_attn_layer_norm", r"\1self_residual.norm"),
    (r"encoder_attn_layer_norm", "cross_residual.norm"),
    (r"final_layer_norm", "feed_forward_residual.norm"),
    (r"self_attn\.", "self_attention."),
    (r"encoder_attn\.", "cross_attention."),
    (r"fc1", "feed_forward.in_proj"),
    (r"fc2", "feed_forward.out_proj"),
)
"""BART and what descends from it; only some have each of these."""

T5: Rules = (
    (r"^shared\.weight", "output"),
    (r"block\.0\.layer\.0\.SelfAttention\.relative_attention_bias", "positions.0.table"),
    (r"final_layer_norm", "final_norm"),
    (r"block", "layers"),
    (r"^(encoder\..*)layer\.0\.layer_norm", r"\1attention_residual.norm"),
    (r"^(encoder\..*)layer\.1\.layer_norm", r"\1feed_forward_residual.norm"),
    (r"^(decoder\..*)layer\.0\.layer_norm", r"\1self_residual.norm"),
    (r"^(decoder\..*)layer\.1\.layer_norm", r"\1cross_residual.norm"),
    (r"^(decoder\..*)layer\.2\.layer_norm", r"\1feed_forward_residual.norm"),
    (r"layer\.\d\.SelfAttention\.(\w)\.", r"self_attention.\1_proj."),
    (r"layer\.\d\.EncDecAttention\.(\w)\.", r"cross_attention.\1_proj."),
    (r"\.o_proj", ".out_proj"),
    (r"layer\.\d\.DenseReluDense\.", "feed_forward."),
    (r"wi_0|wi(?=\.)", "in_proj"),
    (r"wo", "out_proj"),
)

T5_V1_1: Rules = (
    (r"^shared", "source_embedding.tokens"),
    (r"^lm_head\.weight", "output"),
    (r"wi_0", "gate_proj"),
    (r"wi_1", "in_proj"),
    *T5,
)


@dataclass(frozen=True)
class Family:
    """One published architecture."""

    blueprint: str
    """The name of the bundled blueprint."""
    config: str
    """The library's class of configurations."""
    model: str
    """The library's class of models."""
    rules: Rules
    published: Mapping[str, Any]
    """The configuration of the size that the blueprint has, as far as it is not the default."""
    small: Mapping[str, Any]
    """What a test changes in it."""
    overrides: tuple[str, ...]
    """The same changes of the blueprint."""
    length: int
    """Tokens of the longest sequence that is compared."""
    tied: bool = True
    """Whether the output projection is the embedding."""
    learned_bias: bool = False
    """Whether the library's `final_logits_bias`, a buffer there, is trained."""

    def name_here(self, theirs: str) -> str:
        """Say what the weight called `theirs` in the library is called here."""
        for pattern, ours in self.rules:
            theirs = re.sub(pattern, ours, theirs)
        return theirs


def sizes(d_model: int, layers: int, heads: int, d_ff: int) -> dict[str, int]:
    """Say sizes as BART's configuration does, both stacks alike."""
    stacks = {"layers": layers, "attention_heads": heads, "ffn_dim": d_ff}
    both = {f"{stack}_{key}": stacks[key] for stack in ("encoder", "decoder") for key in stacks}
    return {"d_model": d_model, **both}


VOCABULARY = 60
SMALL = {**sizes(32, 2, 4, 56), "vocab_size": VOCABULARY}
SMALL_T5 = {
    "d_model": 32,
    "d_kv": 12,
    "d_ff": 56,
    "num_layers": 2,
    "num_heads": 4,
    "vocab_size": VOCABULARY,
}
OVERRIDES = (
    "model.d_model=32",
    "model.layers=2",
    "model.attention.heads=4",
    "model.feed_forward.d_ff=56",
    f"model.vocab_size={VOCABULARY}",
)
T5_BASE = {"d_model": 768, "num_layers": 12, "num_heads": 12}
SINUSOIDS = 40
"""A length at which single precision tells the angles of two implementations apart by 1e-6."""
BEYOND = 170
"""A length with distances beyond the 128 after which T5's buckets end."""

FAMILIES = [
    Family(
        blueprint="t5",
        config="T5Config",
        model="T5ForConditionalGeneration",
        rules=T5,
        published={**T5_BASE, "d_ff": 3072},
        small=SMALL_T5,
        overrides=(
            *OVERRIDES,
            "model.attention.d_k=12",
            f"model.embeddings.output.scale={32**-0.5}",
        ),
        length=BEYOND,
    ),
    Family(
        blueprint="t5-v1_1",
        config="T5Config",
        model="T5ForConditionalGeneration",
        rules=T5_V1_1,
        published={
            **T5_BASE,
            "d_ff": 2048,
            "feed_forward_proj": "gated-gelu",
            "tie_word_embeddings": False,
        },
        small=SMALL_T5,
        overrides=(*OVERRIDES, "model.attention.d_k=12"),
        length=BEYOND,
        tied=False,
    ),
    Family(
        blueprint="bart",
        config="BartConfig",
        model="BartForConditionalGeneration",
        rules=BART,
        published=sizes(768, 6, 12, 3072),
        small=SMALL,
        overrides=OVERRIDES,
        length=BEYOND,
    ),
    Family(
        blueprint="mbart",
        config="MBartConfig",
        model="MBartForConditionalGeneration",
        rules=BART,
        published={"vocab_size": 250_027, "scale_embedding": True},
        small=SMALL,
        overrides=OVERRIDES,
        length=BEYOND,
    ),
    Family(
        blueprint="marian",
        config="MarianConfig",
        model="MarianMTModel",
        rules=(*BART, (r"^final_logits_bias", "learned_bias")),
        published={
            **sizes(512, 6, 8, 2048),
            "activation_function": "swish",
            "scale_embedding": True,
        },
        small={
            **SMALL,
            "pad_token_id": VOCABULARY - 1,
            "decoder_start_token_id": VOCABULARY - 1,
        },
        overrides=OVERRIDES,
        length=SINUSOIDS,
        learned_bias=True,
    ),
    Family(
        blueprint="m2m100",
        config="M2M100Config",
        model="M2M100ForConditionalGeneration",
        rules=BART,
        published={},
        small=SMALL,
        overrides=OVERRIDES,
        length=SINUSOIDS,
    ),
    Family(
        blueprint="nllb",
        config="M2M100Config",
        model="M2M100ForConditionalGeneration",
        rules=BART,
        published={"vocab_size": 256_206},
        small=SMALL,
        overrides=OVERRIDES,
        length=SINUSOIDS,
    ),
    Family(
        blueprint="pegasus",
        config="PegasusConfig",
        model="PegasusForConditionalGeneration",
        rules=BART,
        published={
            **sizes(1024, 16, 16, 4096),
            "vocab_size": 96_103,
            "activation_function": "relu",
            "scale_embedding": True,
        },
        small=SMALL,
        overrides=OVERRIDES,
        length=SINUSOIDS,
    ),
]
