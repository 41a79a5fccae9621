"""The `model` section: every choice that shapes the network, in the words of the paper."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from builder.blueprint.section import (
    ByLayer,
    Depth,
    Length,
    Natural,
    Positive,
    Section,
    Share,
    Uniform,
    VocabularySize,
    Width,
    Word,
    at_layer,
)


class Attention(Section):
    """Multi-head attention (Vaswani et al., 2017, section 3.2)."""

    heads: ByLayer[Depth] = (8,)
    """Heads; they must divide d_model unless `d_k` is given."""
    d_k: Width | None = None
    """Width of one head's queries and keys; `d_model / heads` of the layer unless given."""
    d_v: Width | None = None
    """Width of one head's values; `d_k` unless given."""
    bias: bool = False
    """Biases on the four projections."""


class FeedForward(Section):
    """The position-wise network of each layer (Vaswani et al., 2017, section 3.3)."""

    d_ff: ByLayer[Width] = (2048,)
    """Inner width."""
    activation: Literal["relu", "gelu", "swiglu"] = "relu"
    """`swiglu` is gated: a third matrix of the same size (Shazeer, 2020)."""
    bias: bool = True
    """Biases on the projections."""


class Sinusoidal(Section):
    """Fixed sines and cosines added to the embeddings (Vaswani et al., 2017, section 3.5)."""

    kind: Literal["sinusoidal"]
    base: Positive = 10_000.0
    """The longest wavelength divided by 2π."""


class Learned(Section):
    """One trained vector for each position (Gehring et al., 2017)."""

    kind: Literal["learned"]
    max_length: Length
    """Positions that exist, in tokens; longer sequences are refused."""


class Rotary(Section):
    """Queries and keys turned by an angle that grows with the position (Su et al., 2021)."""

    kind: Literal["rotary"]
    base: Positive = 10_000.0
    """The longest wavelength divided by 2π."""


class NoPositions(Section):
    """No positional signal."""

    kind: Literal["none"]


Positions = Annotated[
    Sinusoidal | Learned | Rotary | NoPositions, Field(discriminator="kind"), Word
]


class Full(Section):
    """Every position may attend to every other; in a decoder, to those before it."""

    kind: Literal["full"]


class Causal(Section):
    """Every position may attend to itself and to those before it."""

    kind: Literal["causal"]


class Window(Section):
    """Every position may attend to itself and to its nearest neighbours."""

    kind: Literal["window"]
    before: Natural
    """Neighbours seen on the left, in tokens; the position itself is always seen."""
    after: Natural = 0
    """Neighbours seen on the right, in tokens; a decoder sees none."""


Mask = Annotated[Full | Causal | Window, Field(discriminator="kind"), Word]


class LayerNorm(Section):
    """Mean removed, variance scaled to one (Ba et al., 2016)."""

    kind: Literal["layer_norm"]
    placement: Literal["post", "pre"] = "post"
    """After each residual sum (the paper), or before each sub-layer with one more at the end."""
    eps: Positive = 1e-5
    """Added to the variance."""


class RMSNorm(Section):
    """Root mean square scaled to one, no bias (Zhang and Sennrich, 2019)."""

    kind: Literal["rms_norm"]
    placement: Literal["post", "pre"] = "post"
    """After each residual sum (the paper), or before each sub-layer with one more at the end."""
    eps: Positive = 1e-5
    """Added to the mean square."""


Norm = Annotated[LayerNorm | RMSNorm, Field(discriminator="kind"), Word]


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


class Embeddings(Section):
    """Token embeddings and the output projection (Vaswani et al., 2017, section 3.4)."""

    tie: Literal["none", "source_target", "source_output", "target_output", "all"] = "all"
    """Which of the three matrices are one."""
    scale: bool = True
    """Multiply embeddings by the square root of d_model."""


class Vocabularies(Uniform):
    """Rows of the two embedding tables, the four control ids included."""

    source: VocabularySize
    """Rows of the source embedding."""
    target: VocabularySize
    """Rows of the target embedding and of the output projection."""


class Model(Section):
    """The network, resolved: what holds for a stack stands in that stack."""

    d_model: Width = 512
    """Width of the network."""
    vocab_size: Vocabularies | None = None
    """Known from a tokenizer unless given."""
    embeddings: Embeddings = Embeddings()
    encoder: Encoder = Encoder()
    decoder: Decoder = Decoder()


class WrittenModel(Stack, Model):
    """The network as a user writes it: the keys of a stack may stand once, for both stacks."""


def head_widths(attention: Attention, d_model: int, layer: int) -> tuple[int, int]:
    """The widths `(d_k, d_v)` of one head of a layer, counted from 0."""
    d_k = attention.d_k or d_model // at_layer(attention.heads, layer)
    return d_k, attention.d_v or d_k


def with_widths(model: Model) -> Model:
    """The same model, with `d_k` and `d_v` written out wherever all layers have the same."""

    def explicit(attention: Attention) -> Attention:
        if attention.d_k is None and len(set(attention.heads)) > 1:
            return attention
        d_k, d_v = head_widths(attention, model.d_model, 0)
        return attention.model_copy(update={"d_k": d_k, "d_v": d_v})

    encoder, decoder = model.encoder, model.decoder
    attention = {"attention": explicit(encoder.attention)}
    both = {
        "attention": explicit(decoder.attention),
        "cross_attention": explicit(decoder.cross_attention),
    }
    stacks = {
        "encoder": encoder.model_copy(update=attention),
        "decoder": decoder.model_copy(update=both),
    }
    return model.model_copy(update=stacks)
