"""The stack that writes the target: all positions at once, or one at a time with a cache."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from builder.nn.attention import KeyValue, MultiHeadAttention
from builder.nn.feed_forward import FeedForward
from builder.nn.mask import Causal, Pattern
from builder.nn.residual import Residual
from builder.nn.sight import AttentionPositions, Sight, sights


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the source, a feed-forward network (section 3.1)."""

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: FeedForward,
        residuals: Sequence[Residual],
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.self_residual, self.cross_residual, self.feed_forward_residual = residuals

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        memory: Float[Tensor, "batch source d_model"],
        sight: Sight,
        real: Bool[Tensor, "batch source"],
    ) -> Float[Tensor, "batch target d_model"]:
        """Write every position from those before it and from the source."""
        x = self.self_residual(x, lambda y: self.self_attention(y, y, *sight))
        x = self.cross_residual(x, lambda y: self.cross_attention(y, memory, real[:, None]))
        return self.feed_forward_residual(x, self.feed_forward)

    def step(
        self,
        x: Float[Tensor, "rows d_model"],
        memory: KeyValue,
        real: Bool[Tensor, "batch source"],
        *,
        cache: KeyValue,
        sight: Sight,
        beams: int | torch.SymInt = 1,
    ) -> tuple[Float[Tensor, "rows d_model"], KeyValue]:
        """Write one position; return its vector and the cache with that position in it."""

        def attend(y: Tensor) -> Tensor:
            nonlocal cache
            mixed, cache = self.self_attention.extend(y, cache, sight, beams=beams)
            return mixed

        x = self.self_residual(x, attend)
        x = self.cross_residual(
            x, lambda y: self.cross_attention.look(y, memory, real, beams=beams)
        )
        return self.feed_forward_residual(x, self.feed_forward), cache


class Decoder(nn.Module):
    """Layers of one width, as in `Encoder`; self-attention is causal, whatever `masks` say."""

    def __init__(
        self,
        layers: Sequence[DecoderLayer],
        *,
        masks: Sequence[Pattern],
        positions: Sequence[AttentionPositions | None],
        final_norm: nn.Module | None,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.masks = tuple(Causal(pattern) for pattern in masks)
        self.positions = nn.ModuleList(cast("Iterable[nn.Module]", positions))
        self.final_norm = final_norm or nn.Identity()

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        memory: Float[Tensor, "batch source d_model"],
        real: Bool[Tensor, "batch source"],
    ) -> Float[Tensor, "batch target d_model"]:
        """Write all positions of embedded targets; `real` is False on the source's padding.

        The targets are padded on the right, so that no real position sees padding.
        """
        places = torch.arange(x.shape[1], device=x.device)
        visible = {
            pattern: pattern.allowed(places, places)[None] for pattern in dict.fromkeys(self.masks)
        }
        told = sights(self._pairs(), visible, query=places, key=places, dtype=x.dtype)
        for layer, sight in zip(self.layers, told, strict=True):
            x = layer(x, memory, sight, real)
        return self.final_norm(x)

    def remember(self, memory: Float[Tensor, "batch source d_model"]) -> tuple[KeyValue, ...]:
        """Project the encoder's output once for every layer."""
        return tuple(layer.cross_attention.keys_values(memory) for layer in self._layers())

    def empty_caches(self, rows: Int[Tensor, "batch ..."]) -> tuple[KeyValue, ...]:
        """Return caches of no positions, one for each layer, for as many `rows`."""
        return tuple(layer.self_attention.empty_cache(rows) for layer in self._layers())

    def step(
        self,
        x: Float[Tensor, "rows d_model"],
        memory: Sequence[KeyValue],
        real: Bool[Tensor, "batch source"],
        *,
        caches: Sequence[KeyValue],
        position: Int[Tensor, ""],
        ancestors: Bool[Tensor, "batch beam slots"] | None = None,
    ) -> tuple[Float[Tensor, "rows d_model"], tuple[KeyValue, ...]]:
        """Write one position, counted from 0, after those in `caches`.

        With `ancestors`, each source has several targets, its rows, in one cache of all: it holds
        their first vectors, then their second ones, and so on. `ancestors` says which of these are
        a row's own; without it, all are.
        """
        here = position[None]
        own = _with_itself(ancestors) if ancestors is not None else None
        beams = own.shape[1] if own is not None else 1
        seen = torch.arange(caches[0].k.shape[2] + beams, device=x.device)
        seen = seen // beams if own is not None else seen
        visible = {
            pattern: _visible(pattern, here, seen, own) for pattern in dict.fromkeys(self.masks)
        }
        told = sights(self._pairs(), visible, query=here, key=seen, dtype=x.dtype)
        longer = []
        for layer, layer_memory, cache, sight in zip(
            self._layers(), memory, caches, told, strict=True
        ):
            x, cache = layer.step(  # noqa: PLW2901
                x, layer_memory, real, cache=cache, sight=sight, beams=beams
            )
            longer.append(cache)
        return self.final_norm(x), tuple(longer)

    def _layers(self) -> Iterable[DecoderLayer]:
        return cast("Iterable[DecoderLayer]", self.layers)

    def _pairs(self) -> list[tuple[Causal, AttentionPositions | None]]:
        positions = cast("Iterable[AttentionPositions | None]", self.positions)
        return list(zip(self.masks, positions, strict=True))


def _with_itself(ancestors: Bool[Tensor, "batch beam slots"]) -> Bool[Tensor, "batch beam key"]:
    """Add the vectors of this step, of which each row's own is one."""
    places = torch.arange(ancestors.shape[1], device=ancestors.device)
    itself = places[:, None] == places
    return torch.cat([ancestors, itself.expand(ancestors.shape[0], -1, -1)], dim=2)


def _visible(
    pattern: Causal,
    here: Int[Tensor, " query"],
    seen: Int[Tensor, " key"],
    own: Bool[Tensor, "batch beam key"] | None,
) -> Bool[Tensor, "#batch #beam key"] | None:
    """What a step may attend to; nothing in a cache lies ahead."""
    if not pattern.hides_past:
        return own
    allowed = pattern.allowed(here, seen)[None]
    return allowed if own is None else allowed & own
