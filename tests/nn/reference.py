"""The network of a choice in plain loops, one sentence at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from builder.nn.mask import Band, Block, Pattern, Prefix
from tests.nn.choice import BUCKETS, D_K, D_MODEL, D_V, LONGEST, Choice

Array = np.ndarray


def sees(pattern: Pattern, query: int, key: int) -> bool:
    match pattern:
        case Band(before=before, after=after, global_tokens=count):
            left = math.inf if before is None else before
            right = math.inf if after is None else after
            return query - left <= key <= query + right or min(query, key) < count
        case Block(size=size):
            return any(query in block and key in block for block in blocks(size))
        case Prefix(length=length):
            return key <= query or max(query, key) < length


def blocks(size: int) -> list[range]:
    return [range(start, start + size) for start in range(0, 100, size)]


def slopes(heads: int) -> list[float]:
    """As in the appendix of Press et al. (2022)."""
    if heads & (heads - 1) == 0:
        return [2 ** (-8 * (head + 1) / heads) for head in range(heads)]
    lower = 2 ** int(math.log2(heads))
    return slopes(lower) + slopes(2 * lower)[::2][: heads - lower]


def bucket(distance: int, buckets: int, longest: int, *, bidirectional: bool) -> int:
    """The bucket of key − query, as Raffel et al. (2020) compute it, in float64."""
    if bidirectional:
        half = buckets // 2
        return half * (distance > 0) + bucket(-abs(distance), half, longest, bidirectional=False)
    back, exact = max(-distance, 0), buckets // 2
    if back < exact:
        return back
    share = math.log(back / exact) / math.log(longest / exact)
    return min(exact + int(share * (buckets - exact) + 1e-9), buckets - 1)


@dataclass(frozen=True)
class Loops:
    """The network of a choice, written without padding, batches, caches or masks."""

    choice: Choice
    weights: dict[str, Array]

    def logits(self, source: list[int], target: list[int]) -> Array:
        memory = self.embed("source_embedding", source)
        for i in range(self.choice.layers):
            memory = self.layer("encoder", i, memory, None)
        memory = self.final("encoder", memory)
        x = self.embed("target_embedding", target)
        for i in range(self.choice.layers):
            x = self.layer("decoder", i, x, memory)
        hidden = self.final("decoder", x) * self.choice.output_scale
        return hidden @ self.weights["output"].T + self.weights.get("learned_bias", 0.0)

    def embed(self, name: str, ids: list[int]) -> Array:
        x = self.weights[f"{name}.tokens.weight"][ids] * math.sqrt(D_MODEL)
        if self.choice.added == "learned":
            x = x + self.weights[f"{name}.positions.table.weight"][2 : 2 + len(ids)]
        if self.choice.added == "sinusoidal":
            half = D_MODEL // 2
            for time, i in np.ndindex(len(ids), half):
                angle = (time + 2) * math.exp(-i * math.log(10_000) / (half - 1))
                x[time, i] += math.sin(angle)
                x[time, half + i] += math.cos(angle)
        return self.norm(f"{name}.norm", x) if self.choice.embedding_norm else x

    def layer(self, stack: str, i: int, x: Array, memory: Array | None) -> Array:
        name = f"{stack}.layers.{i}"
        first = "attention" if memory is None else "self"
        x = self.around(f"{name}.{first}_residual", x, lambda y: self.own(stack, i, y))
        if memory is not None:
            cross = f"{name}.cross_attention"
            x = self.around(
                f"{name}.cross_residual",
                x,
                lambda y: self.attention(cross, y, memory, lambda *_: True, None),
            )
        return self.around(f"{name}.feed_forward_residual", x, lambda y: self.wide(name, y))

    def around(self, name: str, x: Array, sublayer: Callable[[Array], Array]) -> Array:
        match self.choice.placement:
            case "pre":
                return x + sublayer(self.norm(f"{name}.norm", x))
            case "sandwich":
                inner = sublayer(self.norm(f"{name}.norm", x))
                return x + self.norm(f"{name}.norm_after", inner)
            case "deepnorm":
                return self.norm(f"{name}.norm", self.alpha(name) * x + sublayer(x))
            case _:
                return self.norm(f"{name}.norm", x + sublayer(x))

    def alpha(self, name: str) -> float:
        """Of N = M layers (Wang et al., 2022)."""
        depth = self.choice.layers
        return 0.81 * depth ** (5 / 16) if name.startswith("encoder") else (3 * depth) ** 0.25

    def final(self, stack: str, x: Array) -> Array:
        placed = self.choice.placement in ("pre", "sandwich")
        return self.norm(f"{stack}.final_norm", x) if placed else x

    def norm(self, name: str, x: Array) -> Array:
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)
        return x * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def linear(self, name: str, x: Array) -> Array:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def wide(self, name: str, x: Array) -> Array:
        inner = self.linear(f"{name}.feed_forward.in_proj", x)
        return self.linear(f"{name}.feed_forward.out_proj", np.maximum(inner, 0))

    def own(self, stack: str, i: int, x: Array) -> Array:
        masks = self.choice.encoder_masks if stack == "encoder" else self.choice.decoder_masks
        pattern = masks[i % len(masks)]

        def visible(query: int, key: int) -> bool:
            return (stack == "encoder" or key <= query) and (
                query == key or sees(pattern, query, key)
            )

        kind = self.choice.positions[i % len(self.choice.positions)]
        name = f"{stack}.positions.{i}.table"
        table = self.weights.get(name, self.weights.get(f"{name}.weight"))
        order = Order(kind, self.choice.heads, table, stack == "encoder")
        return self.attention(f"{stack}.layers.{i}.self_attention", x, x, visible, order)

    def attention(
        self,
        name: str,
        query: Array,
        memory: Array,
        visible: Callable[[int, int], bool],
        order: Order | None,
    ) -> Array:
        choice = self.choice
        group = choice.heads // (choice.kv_heads or choice.heads)
        q, k, v = (
            self.linear(f"{name}.{side}_proj", x).reshape(len(x), -1, width)
            for side, x, width in (("q", query, D_K), ("k", memory, D_K), ("v", memory, D_V))
        )
        if choice.qk_norm:
            q, k = (
                self.root_mean_square(f"{name}.q_norm", q),
                self.root_mean_square(f"{name}.k_norm", k),
            )
        scale = D_K**-0.5 if choice.scale is None else choice.scale
        mixed = np.zeros((len(query), choice.heads, D_V))
        for i, head in np.ndindex(len(query), choice.heads):
            seen = [j for j in range(len(memory)) if visible(i, j)]
            scores = []
            for j in seen:
                pair = (q[i, head], k[j, head // group])
                score = scale * (order.product(*pair, i, j) if order else pair[0] @ pair[1])
                if choice.softcap is not None:
                    score = choice.softcap * math.tanh(score / choice.softcap)
                scores.append(score + (order.bias(head, i, j) if order else 0.0))
            weights = np.exp(scores)
            for j, weight in zip(seen, weights / weights.sum(), strict=True):
                mixed[i, head] += weight * v[j, head // group]
        return self.linear(f"{name}.out_proj", mixed.reshape(len(query), -1))

    def root_mean_square(self, name: str, x: Array) -> Array:
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * self.weights[f"{name}.weight"]


@dataclass(frozen=True)
class Order:
    """How self-attention learns where its queries and keys stand."""

    kind: str
    heads: int
    table: Array | None
    bidirectional: bool

    def product(self, q: Array, k: Array, i: int, j: int) -> float:
        """Multiply the query at `i` with the key at `j`."""
        if self.kind == "rotary":
            return float(turned(q, i, D_K) @ turned(k, j, D_K))
        if self.kind == "partial":
            return float(turned(q, i / 3.0, D_K // 2) @ turned(k, j / 3.0, D_K // 2))
        if self.kind == "keys" and self.table is not None:
            distance = min(max(j - i, -LONGEST), LONGEST)
            return float(q @ (k + self.table[distance + LONGEST]))
        return float(q @ k)

    def bias(self, head: int, i: int, j: int) -> float:
        """What `head` adds to the score of the query at `i` and the key at `j`."""
        if self.kind == "alibi":
            return -slopes(self.heads)[head] * abs(i - j)
        if self.kind == "bias" and self.table is not None:
            row = bucket(j - i, BUCKETS, LONGEST, bidirectional=self.bidirectional)
            return float(self.table[row, head])
        return 0.0


def turned(x: Array, position: float, width: int) -> Array:
    """Rotate the first `width` values, as complex numbers."""
    half = width // 2
    turns = np.exp(1j * position * 50.0 ** (-np.arange(half) / half))
    z = (x[:half] + 1j * x[half:width]) * turns
    return np.concatenate([z.real, z.imag, x[width:]])
