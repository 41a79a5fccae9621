"""Any choice of the network, built of its modules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from builder.nn.attention import MultiHeadAttention
from builder.nn.bias import ALiBi, RelativeBias
from builder.nn.decoder import Decoder, DecoderLayer
from builder.nn.embedding import Embedding
from builder.nn.encoder import Encoder, EncoderLayer
from builder.nn.feed_forward import Activation, FeedForward
from builder.nn.mask import Band, Pattern
from builder.nn.positions import LearnedPositions, SinusoidalPositions
from builder.nn.relative_keys import RelativeKeys
from builder.nn.residual import Residual, deepnorm
from builder.nn.rotary import RotaryPositions
from builder.nn.sight import AttentionPositions
from builder.nn.transformer import Transformer

D_MODEL, D_K, D_V, VOCAB = 8, 4, 3, 13
LONGEST, BUCKETS = 5, 6
"""Of relative keys and biases: the longest distance of its own, and the buckets."""


@dataclass(frozen=True)
class Choice:
    """What both stacks are built of; tuples go round over their layers."""

    heads: int = 4
    kv_heads: int | None = None
    scale: float | None = None
    qk_norm: bool = False
    softcap: float | None = None
    encoder_masks: tuple[Pattern, ...] = (Band(),)
    decoder_masks: tuple[Pattern, ...] = (Band(),)
    positions: tuple[str, ...] = ("none",)
    added: str = "none"
    placement: str = "pre"
    activation: Activation = "relu"
    layers: int = 2
    one_layer: bool = False
    embedding_norm: bool = False
    output_scale: float = 1.0
    learned_bias: bool = False

    def network(self) -> Transformer:
        """Build it with weights of which none is a plain 0 or 1, in evaluation mode."""
        decoder: list[Any] = [self._decoder_layer() for _ in range(self.layers)]
        encoder: list[Any] = [self._encoder_layer() for _ in range(self.layers)]
        network = Transformer(
            self._embedding(),
            Encoder(
                encoder[:1] * self.layers if self.one_layer else encoder,
                masks=self._cycled(self.encoder_masks),
                positions=self._positions(bidirectional=True),
                final_norm=nn.LayerNorm(D_MODEL) if self._final else None,
            ),
            self._embedding(),
            Decoder(
                decoder[:1] * self.layers if self.one_layer else decoder,
                masks=self._cycled(self.decoder_masks),
                positions=self._positions(bidirectional=False),
                final_norm=nn.LayerNorm(D_MODEL) if self._final else None,
            ),
            nn.Parameter(torch.zeros(VOCAB, D_MODEL)),
            output_scale=self.output_scale,
            learned_bias=self.learned_bias,
        ).eval()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
        return network

    @property
    def _final(self) -> bool:
        return self.placement in ("pre", "sandwich")

    def _cycled(self, values: tuple[Any, ...]) -> list[Any]:
        return [values[layer % len(values)] for layer in range(self.layers)]

    def _positions(self, *, bidirectional: bool) -> list[AttentionPositions | None]:
        bias = RelativeBias(
            self.heads, buckets=BUCKETS, max_distance=LONGEST, bidirectional=bidirectional
        )
        make: dict[str, Callable[[], AttentionPositions | None]] = {
            "none": lambda: None,
            "rotary": lambda: RotaryPositions(D_K, base=50.0),
            "partial": lambda: RotaryPositions(D_K, base=50.0, fraction=0.5, scaling=3.0),
            "alibi": lambda: ALiBi(self.heads),
            "bias": lambda: bias,
            "keys": lambda: RelativeKeys(D_K, max_distance=LONGEST, bidirectional=bidirectional),
        }
        return [make[kind]() for kind in self._cycled(self.positions)]

    def _embedding(self) -> Embedding:
        added: dict[str, SinusoidalPositions | LearnedPositions | None] = {
            "none": None,
            "sinusoidal": SinusoidalPositions(
                D_MODEL, layout="split", frequencies="fairseq", first=2
            ),
            "learned": LearnedPositions(D_MODEL, 30, first=2),
        }
        norm = nn.LayerNorm(D_MODEL) if self.embedding_norm else None
        return Embedding(VOCAB, D_MODEL, positions=added[self.added], norm=norm)

    def _attention(self) -> MultiHeadAttention:
        return MultiHeadAttention(
            D_MODEL,
            self.heads,
            kv_heads=self.kv_heads,
            d_k=D_K,
            d_v=D_V,
            bias=True,
            scale=self.scale,
            qk_norm=self.qk_norm,
            softcap=self.softcap,
        )

    def _residuals(self, count: int, alpha: float) -> list[Residual]:
        return [
            Residual(
                nn.LayerNorm(D_MODEL),
                placement="post" if self.placement == "deepnorm" else self.placement,  # type: ignore[arg-type]
                norm_after=nn.LayerNorm(D_MODEL) if self.placement == "sandwich" else None,
                alpha=alpha if self.placement == "deepnorm" else 1.0,
            )
            for _ in range(count)
        ]

    def _feed_forward(self) -> FeedForward:
        return FeedForward(D_MODEL, 10, activation=self.activation)

    def _encoder_layer(self) -> EncoderLayer:
        alpha = deepnorm(self.layers, self.layers)[0].alpha
        return EncoderLayer(self._attention(), self._feed_forward(), self._residuals(2, alpha))

    def _decoder_layer(self) -> DecoderLayer:
        alpha = deepnorm(self.layers, self.layers)[1].alpha
        return DecoderLayer(
            self._attention(), self._attention(), self._feed_forward(), self._residuals(3, alpha)
        )
