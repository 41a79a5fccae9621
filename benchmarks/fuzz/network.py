"""The whole network in plain loops, a sentence at a time: what PyTorch is compared with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from builder.blueprint.model import (
    Decoder,
    Encoder,
    LayerNorm,
    Learned,
    Model,
    Norm,
    Sinusoidal,
)

from .attention import Place, PlainAttention, Weights, linear
from .order import Array, sees, waves

erf = np.vectorize(math.erf, otypes=[float])


@dataclass(frozen=True)
class Loops:
    """The network that a blueprint describes, without padding, batches, caches or masks.

    `weights` go by the names that the trained network saves them under.
    """

    blueprint: Model
    weights: Weights

    def logits(self, source: list[int], target: list[int]) -> Array:
        """The scores of every token after each of `target`, which begins with BOS."""
        encoder, decoder = self.blueprint.encoder, self.blueprint.decoder
        memory = self._embed("source_embedding", encoder, source)
        for layer in range(encoder.layers):
            memory = self._encode(layer, memory)
        memory = self._final("encoder", encoder.norm, memory)
        x = self._embed("target_embedding", decoder, target)
        for layer in range(decoder.layers):
            x = self._decode(layer, x, memory)
        hidden = self._final("decoder", decoder.norm, x) * self.blueprint.embeddings.output.scale
        scores = hidden @ self.weights["output"].T
        if self.blueprint.embeddings.output.bias:
            scores += self.weights["learned_bias"]
        scores[:, :2] = -np.inf
        return scores

    def _embed(self, name: str, stack: Encoder | Decoder, ids: list[int]) -> Array:
        x = self.weights[f"{name}.tokens.weight"][ids].copy()
        if self.blueprint.embeddings.scale:
            x *= math.sqrt(self.blueprint.d_model)
        positions = stack.positions[0]
        for time in range(len(ids)):
            if isinstance(positions, Learned):
                x[time] += self.weights[f"{name}.positions.table.weight"][time + positions.first]
            if isinstance(positions, Sinusoidal):
                x[time] += waves(positions, time, self.blueprint.d_model)
        return self._norm(f"{name}.norm", stack.norm, x) if self.blueprint.embeddings.norm else x

    def _encode(self, layer: int, x: Array) -> Array:
        name = f"encoder.layers.{layer}"
        stack = self.blueprint.encoder
        x = self._around(f"{name}.attention_residual", stack, x, self._attend(stack, layer))
        return self._around(
            f"{name}.feed_forward_residual", stack, x, self._feed_forward(stack, name)
        )

    def _decode(self, layer: int, x: Array, memory: Array) -> Array:
        name = f"decoder.layers.{layer}"
        stack = self.blueprint.decoder
        cross = PlainAttention(
            stack.cross_attention, layer, self.weights, f"{name}.cross_attention"
        )
        x = self._around(f"{name}.self_residual", stack, x, self._attend(stack, layer))
        x = self._around(f"{name}.cross_residual", stack, x, lambda y: cross(y, memory))
        return self._around(
            f"{name}.feed_forward_residual", stack, x, self._feed_forward(stack, name)
        )

    def _attend(self, stack: Encoder | Decoder, layer: int) -> Callable[[Array], Array]:
        side = "encoder" if isinstance(stack, Encoder) else "decoder"
        name = f"{side}.layers.{layer}.self_attention"
        attention = PlainAttention(stack.attention, layer, self.weights, name)
        mask = stack.mask[layer % len(stack.mask)]
        positions = stack.positions[layer % len(stack.positions)]
        place = Place(positions, self.weights, f"{side}.positions.{layer}", side == "encoder")

        def visible(query: int, key: int) -> bool:
            return sees(mask, query, key) and (side == "encoder" or key <= query)

        return lambda x: attention(x, x, visible, place)

    def _feed_forward(self, stack: Encoder | Decoder, layer: str) -> Callable[[Array], Array]:
        name, activation = f"{layer}.feed_forward", stack.feed_forward.activation

        def transform(x: Array) -> Array:
            wide = linear(self.weights, f"{name}.in_proj", x)
            if activation in GATES:
                gate = linear(self.weights, f"{name}.gate_proj", x)
                wide = wide * curve(GATES[activation], gate)
            else:
                wide = curve(activation, wide)
            return linear(self.weights, f"{name}.out_proj", wide)

        return transform

    def _around(
        self, name: str, stack: Encoder | Decoder, x: Array, sublayer: Callable[[Array], Array]
    ) -> Array:
        norm = stack.norm
        match norm.placement:
            case "post":
                return self._norm(f"{name}.norm", norm, x + sublayer(x))
            case "pre":
                return x + sublayer(self._norm(f"{name}.norm", norm, x))
            case "sandwich":
                inner = sublayer(self._norm(f"{name}.norm", norm, x))
                return x + self._norm(f"{name}.norm_after", norm, inner)
            case "deepnorm":
                return self._norm(f"{name}.norm", norm, self._alpha(stack) * x + sublayer(x))

    def _alpha(self, stack: Encoder | Decoder) -> float:
        """The weight of what came in (Wang et al., 2022, Figure 2)."""
        n, m = self.blueprint.encoder.layers, self.blueprint.decoder.layers
        return 0.81 * (n**4 * m) ** (1 / 16) if isinstance(stack, Encoder) else (3 * m) ** 0.25

    def _final(self, side: str, norm: Norm, x: Array) -> Array:
        final = norm.placement in ("pre", "sandwich") if norm.final is None else norm.final
        return self._norm(f"{side}.final_norm", norm, x) if final else x

    def _norm(self, name: str, norm: Norm, x: Array) -> Array:
        if isinstance(norm, LayerNorm):
            x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(-1, keepdims=True) + norm.eps)
        x = x * self.weights[f"{name}.weight"]
        has_bias = isinstance(norm, LayerNorm) and norm.bias
        return x + self.weights[f"{name}.bias"] if has_bias else x


GATES = {"swiglu": "silu", "geglu": "gelu", "geglu_tanh": "gelu_tanh", "reglu": "relu"}
"""What the gate of each gated activation goes through (Shazeer, 2020)."""


def curve(activation: str, x: Array) -> Array:
    """The activation of every value."""
    match activation:
        case "relu":
            return np.maximum(x, 0)
        case "relu_squared":
            return np.maximum(x, 0) ** 2
        case "gelu":
            return x * (1 + erf(x / math.sqrt(2))) / 2
        case "gelu_tanh":
            return x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2
        case "silu":
            return x / (1 + np.exp(-x))
        case _:
            raise ValueError(activation)
