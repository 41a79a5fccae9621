"""The whole network: source and target ids into logits."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from builder.nn.attention import KeyValue
from builder.nn.decoder import Decoder
from builder.nn.embedding import Embedding
from builder.nn.encoder import Encoder

PAD_ID, BOS_ID = 0, 1


class Memory(NamedTuple):
    """What decoding needs of a source, computed once."""

    real: Bool[Tensor, "batch source"]
    """False on padding."""
    keys_values: tuple[KeyValue, ...]
    """One for each decoder layer."""


class Transformer(nn.Module):
    """An encoder-decoder Transformer (Vaswani et al., 2017, Figure 1).

    Id 0 is padding, id 1 begins a target. Neither is ever written: their logits are −inf, so that
    they take no probability, and their rows of the output matrix no gradient. Hidden states are
    multiplied by `output_scale` before they are compared with the rows of `output`; with
    `learned_bias`, a trained number is added for each token.
    """

    output_bias: Tensor

    def __init__(
        self,
        source_embedding: Embedding,
        encoder: Encoder,
        target_embedding: Embedding,
        decoder: Decoder,
        output: nn.Parameter,
        *,
        output_scale: float = 1.0,
        learned_bias: bool = False,
    ) -> None:
        super().__init__()
        self.source_embedding = source_embedding
        self.encoder = encoder
        self.target_embedding = target_embedding
        self.decoder = decoder
        self.output = output  # [vocab, d_model]
        bias = torch.zeros(output.shape[0])
        bias[[PAD_ID, BOS_ID]] = float("-inf")
        self.register_buffer("output_bias", bias, persistent=False)
        self.output_scale = output_scale
        self.learned_bias = nn.Parameter(torch.zeros_like(bias)) if learned_bias else None

    def forward(
        self, source_ids: Int[Tensor, "batch source"], target_ids: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocab"]:
        """Score every next token, given the true ones before it; targets begin with BOS."""
        return self.project(self.hidden(source_ids, target_ids))

    def hidden(
        self, source_ids: Int[Tensor, "batch source"], target_ids: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target d_model"]:
        """Compute what the output projection turns into logits."""
        real = source_ids != PAD_ID
        memory = self.encode(source_ids)
        return self.decoder(self.target_embedding(target_ids), memory, real)

    def encode(
        self, source_ids: Int[Tensor, "batch source"]
    ) -> Float[Tensor, "batch source d_model"]:
        """Read sources, padded with id 0 on the right."""
        return self.encoder(self.source_embedding(source_ids), source_ids != PAD_ID)

    def project(self, hidden: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
        """Compare hidden states with every token."""
        bias = self.output_bias
        if self.learned_bias is not None:
            bias = bias + self.learned_bias
        if self.output_scale != 1.0:
            hidden = hidden * self.output_scale
        return F.linear(hidden, self.output, bias)

    def remember(self, source_ids: Int[Tensor, "batch source"]) -> Memory:
        """Read sources and keep what decoding needs of them."""
        return Memory(source_ids != PAD_ID, self.decoder.remember(self.encode(source_ids)))

    def step(
        self,
        last_ids: Int[Tensor, "*rows"],
        position: Int[Tensor, ""],
        *,
        memory: Memory,
        caches: tuple[KeyValue, ...],
        ancestors: Bool[Tensor, "batch beam slots"] | None = None,
    ) -> tuple[Float[Tensor, "*rows vocab"], tuple[KeyValue, ...]]:
        """Score the token after `last_ids`, which stand at `position` (BOS at 0).

        A source may have several targets, told apart by `ancestors` as in `Decoder.step`; what is
        kept of it is never copied for them.
        """
        x = self.target_embedding.step(last_ids.flatten(), position)  # [rows, d_model]
        x, caches = self.decoder.step(
            x,
            memory.keys_values,
            memory.real,
            caches=caches,
            position=position,
            ancestors=ancestors,
        )
        return self.project(x).view(*last_ids.shape, len(self.output)), caches

    def empty_caches(self, source_ids: Int[Tensor, "batch source"]) -> tuple[KeyValue, ...]:
        """Return the caches of targets of which nothing is written, one target for each source."""
        return self.decoder.empty_caches(source_ids)
