"""Encoder and decoder."""

from __future__ import annotations

from builder.blueprint.model.attention import Attention
from builder.blueprint.model.feed_forward import FeedForward
from builder.blueprint.model.mask import Causal, Full, Mask
from builder.blueprint.model.norm import LayerNorm, Norm
from builder.blueprint.model.positions import Positions, Sinusoidal
from builder.blueprint.section import ByLayer, Depth, Section, Share, Uniform


class Dropout(Uniform):
    """Shares of values zeroed in training; one number stands for all four."""

    residual: Share = 0.1
    """On the output of each sub-layer (Vaswani et al., 2017, section 5.4)."""
    embedding: Share = 0.1
    """On the sum of embeddings and positions (the same section)."""
    attention: Share = 0.1
    """On the attention weights."""
    activation: Share = 0.1
    """On the activation inside the feed-forward network."""


class Stack(Section):
    """What encoder and decoder have in common; written under `model`, it holds for both."""

    layers: Depth = 6
    """Layers of the stack."""
    share_layers: bool = False
    """One layer's weights used by all of them (Dehghani et al., 2019; Lan et al., 2020)."""
    attention: Attention = Attention()
    feed_forward: FeedForward = FeedForward()
    positions: ByLayer[Positions] = (Sinusoidal(kind="sinusoidal"),)
    """How the model knows the order of tokens; by layer only what works inside attention."""
    norm: Norm = LayerNorm(kind="layer_norm")
    """The normalisation around each sub-layer."""
    dropout: Dropout = Dropout()


class Encoder(Stack):
    """The stack that reads the source."""

    mask: ByLayer[Mask] = (Full(kind="full"),)
    """Which source tokens each one may attend to."""


class Decoder(Stack):
    """The stack that writes the target; its self-attention is always causal."""

    mask: ByLayer[Mask] = (Causal(kind="causal"),)
    """Which target tokens each one may attend to; never later ones."""
    cross_attention: Attention = Attention()
    """Attention to the encoder's output; `attention` of the decoder unless given."""
