"""The whole network of every variant beside one in plain loops, a sentence at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from builder.blueprint.model import (
    Decoder,
    Encoder,
    Model,
    Rotary,
    Sinusoidal,
    Stack,
    Window,
)
from builder.nn.transformer import Transformer

Array = np.ndarray


@dataclass(frozen=True)
class Loops:
    """The blueprint's network, written without padding, batches or masks."""

    blueprint: Model
    weights: dict[str, Array]

    def logits(self, source: list[int], target: list[int]) -> Array:
        encoder, decoder = self.blueprint.encoder, self.blueprint.decoder
        memory = self.embed("source_embedding", encoder, source)
        for i in range(encoder.layers):
            memory = self.encode(i, memory)
        x = self.embed("target_embedding", decoder, target)
        memory = self.final_norm("encoder", encoder, memory)
        for i in range(decoder.layers):
            x = self.decode(i, x, memory)
        scores = self.final_norm("decoder", decoder, x) @ self.weights["output"].T
        scores[:, :2] = -np.inf
        return scores

    def embed(self, name: str, stack: Stack, ids: list[int]) -> Array:
        d_model = self.blueprint.d_model
        x = self.weights[f"{name}.tokens.weight"][ids].copy()
        if self.blueprint.embeddings.scale:
            x *= math.sqrt(d_model)
        (positions, *more) = stack.positions
        if more:
            return x  # what differs by layer is not added here
        if positions.kind == "learned":
            x += self.weights[f"{name}.positions.table.weight"][: len(ids)]
        if isinstance(positions, Sinusoidal):
            for time, column in np.ndindex(x.shape):
                angle = time / positions.base ** (2 * (column // 2) / d_model)
                x[time, column] += math.cos(angle) if column % 2 else math.sin(angle)
        return x

    def encode(self, layer: int, x: Array) -> Array:
        stack, name = self.blueprint.encoder, f"encoder.layers.{layer}"

        def attend(y: Array) -> Array:
            return self.self_attention(layer, f"{name}.self_attention", stack, y)

        x = self.around(f"{name}.attention_residual", stack, x, attend)
        return self.feed_forward(name, stack, x)

    def decode(self, layer: int, x: Array, memory: Array) -> Array:
        stack, name = self.blueprint.decoder, f"decoder.layers.{layer}"

        def attend(y: Array) -> Array:
            return self.self_attention(layer, f"{name}.self_attention", stack, y)

        def cross(y: Array) -> Array:
            everything = np.ones((len(y), len(memory)), dtype=bool)
            cross_name = f"{name}.cross_attention"
            heads = stack.cross_attention.heads[layer % len(stack.cross_attention.heads)]
            return self.attention(cross_name, heads, y, memory, everything, None)

        x = self.around(f"{name}.self_residual", stack, x, attend)
        x = self.around(f"{name}.cross_residual", stack, x, cross)
        return self.feed_forward(name, stack, x)

    def around(
        self, name: str, stack: Stack, x: Array, sublayer: Callable[[Array], Array]
    ) -> Array:
        if stack.norm.placement == "pre":
            return x + sublayer(self.norm(f"{name}.norm", stack, x))
        return self.norm(f"{name}.norm", stack, x + sublayer(x))

    def final_norm(self, name: str, stack: Stack, x: Array) -> Array:
        return self.norm(f"{name}.final_norm", stack, x) if stack.norm.placement == "pre" else x

    def norm(self, name: str, stack: Stack, x: Array) -> Array:
        if stack.norm.kind == "layer_norm":
            x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(-1, keepdims=True) + stack.norm.eps)
        return x * self.weights[f"{name}.weight"] + self.weights.get(f"{name}.bias", 0.0)

    def linear(self, name: str, x: Array) -> Array:
        return x @ self.weights[f"{name}.weight"].T + self.weights.get(f"{name}.bias", 0.0)

    def feed_forward(self, name: str, stack: Stack, x: Array) -> Array:
        inner = f"{name}.feed_forward"

        def sublayer(y: Array) -> Array:
            wide = self.linear(f"{inner}.in_proj", y)
            if stack.feed_forward.activation == "swiglu":
                gate = self.linear(f"{inner}.gate_proj", y)
                wide = wide * gate / (1 + np.exp(-gate))
            elif stack.feed_forward.activation == "gelu":
                wide = wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2))) / 2
            else:
                wide = np.maximum(wide, 0)
            return self.linear(f"{inner}.out_proj", wide)

        return self.around(f"{name}.feed_forward_residual", stack, x, sublayer)

    def self_attention(self, layer: int, name: str, stack: Encoder | Decoder, x: Array) -> Array:
        mask = stack.mask[layer % len(stack.mask)]
        positions = stack.positions[layer % len(stack.positions)]
        visible = np.ones((len(x), len(x)), dtype=bool)
        for query, key in np.ndindex(visible.shape):
            if mask.kind == "causal" or isinstance(stack, Decoder):
                visible[query, key] &= key <= query
            if isinstance(mask, Window):
                visible[query, key] &= query - mask.before <= key <= query + mask.after
        base = positions.base if isinstance(positions, Rotary) else None
        heads = stack.attention.heads[layer % len(stack.attention.heads)]
        return self.attention(name, heads, x, x, visible, base)

    def attention(
        self,
        name: str,
        heads: int,
        query: Array,
        memory: Array,
        visible: Array,
        base: float | None,
    ) -> Array:
        q, k, v = (
            self.linear(f"{name}.{side}_proj", x).reshape(len(x), heads, -1)
            for side, x in (("q", query), ("k", memory), ("v", memory))
        )
        if base is not None:
            q, k = turned(q, base), turned(k, base)
        mixed = np.zeros((len(q), heads, v.shape[-1]))
        for i, head in np.ndindex(len(q), heads):
            seen = np.flatnonzero(visible[i])
            weights = np.exp(k[seen, head] @ q[i, head] / math.sqrt(q.shape[-1]))
            mixed[i, head] = weights / weights.sum() @ v[seen, head]
        return self.linear(f"{name}.out_proj", mixed.reshape(len(q), -1))


def turned(x: Array, base: float) -> Array:
    """Rotate [time, heads, d_k] as complex numbers, the first at position 0."""
    half = x.shape[-1] // 2
    rates = base ** (-np.arange(half) / half)
    turns = np.exp(1j * np.arange(len(x))[:, None, None] * rates)
    z = (x[..., :half] + 1j * x[..., half:]) * turns
    return np.concatenate([z.real, z.imag], axis=-1)


@torch.no_grad()
def test_every_row_of_a_batch_agrees_with_plain_loops(variant: Model, model: Transformer) -> None:
    """The axes are of equal size (batch = source = target = heads = 4), then all different."""
    loops = Loops(variant, {name: value.numpy() for name, value in model.state_dict().items()})
    equal = [([5, 6, 7, 2], [1, 9, 4, 8]), ([3, 2], [1, 3]), ([2], [1]), ([12, 9, 2], [1, 7, 7])]
    different = [([4, 8, 11, 3, 6, 10, 2], [1, 5, 6, 3, 12, 11]), ([10, 2], [1, 8])]

    for pairs in (equal, different):
        sources, targets = (torch.tensor(padded(side)) for side in zip(*pairs, strict=True))
        logits = model(sources, targets)
        for row, (source, target) in enumerate(pairs):
            expected = torch.from_numpy(loops.logits(source, target))
            torch.testing.assert_close(logits[row, : len(target)], expected, rtol=1e-10, atol=1e-11)


def padded(sequences: tuple[list[int], ...]) -> list[list[int]]:
    longest = max(len(ids) for ids in sequences)
    return [ids + [0] * (longest - len(ids)) for ids in sequences]
