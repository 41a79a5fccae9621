"""The `model` section: every choice that shapes the network, in the words of the paper."""

from builder.blueprint.model.attention import Attention, head_widths, kv_heads
from builder.blueprint.model.embeddings import Embeddings, Output, Vocabularies
from builder.blueprint.model.feed_forward import GATED, FeedForward
from builder.blueprint.model.init import DepthScaled, Init, Normal, Xavier
from builder.blueprint.model.mask import Block, Causal, Full, Mask, Prefix, Window
from builder.blueprint.model.model import Model, WrittenModel, with_defaults
from builder.blueprint.model.norm import LayerNorm, Norm, RMSNorm, has_final, norms_per_sublayer
from builder.blueprint.model.positions import (
    ALiBi,
    Learned,
    NoPositions,
    Positions,
    RelativeBias,
    RelativeKeys,
    Rotary,
    Sinusoidal,
)
from builder.blueprint.model.stack import Decoder, Dropout, Encoder, Stack

__all__ = [
    "GATED",
    "ALiBi",
    "Attention",
    "Block",
    "Causal",
    "Decoder",
    "DepthScaled",
    "Dropout",
    "Embeddings",
    "Encoder",
    "FeedForward",
    "Full",
    "Init",
    "LayerNorm",
    "Learned",
    "Mask",
    "Model",
    "NoPositions",
    "Norm",
    "Normal",
    "Output",
    "Positions",
    "Prefix",
    "RMSNorm",
    "RelativeBias",
    "RelativeKeys",
    "Rotary",
    "Sinusoidal",
    "Stack",
    "Vocabularies",
    "Window",
    "WrittenModel",
    "Xavier",
    "has_final",
    "head_widths",
    "kv_heads",
    "norms_per_sublayer",
    "with_defaults",
]
