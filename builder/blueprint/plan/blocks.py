"""A blueprint into the blocks of its network, with the shape of every tensor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.model import (
    Attention,
    Decoder,
    Encoder,
    FeedForward,
    Learned,
    Norm,
    RMSNorm,
    head_widths,
)
from builder.blueprint.plan.amount import Amount, Rows, Shape
from builder.blueprint.tokenizer import BPE, Tokenizer


@dataclass(frozen=True)
class Block:
    """A part of the model, with the shape of each of its tensors."""

    name: str
    shapes: Mapping[str, Shape]
    """Matrices are [input, output], tables [rows, width]."""
    copies: int = 1
    """How many layers have one."""
    tied_to: str = ""
    """The block that owns the tensors, where this one only borrows them."""
    is_table: bool = False
    """Whether its rows are looked up."""

    @property
    def parameters(self) -> Amount:
        """What the block adds to the model, over all its copies."""
        if self.tied_to:
            return Amount()
        return sum(map(Amount.of, self.shapes.values()), Amount()) * self.copies

    def as_dict(self) -> dict[str, Any]:
        """The block as plain values, for JSON."""
        return {
            "name": self.name,
            "copies": self.copies,
            "tied_to": self.tied_to or None,
            "shapes": {name: list(shape) for name, shape in self.shapes.items()},
            "parameters": self.parameters.as_dict(),
        }


def blocks_of(blueprint: Blueprint) -> tuple[Block, ...]:
    """Every block, in the order of the computation."""
    model = blueprint.model
    source, target, output = _embeddings(blueprint)
    return (
        source,
        *_stack("encoder", model.encoder, model.d_model),
        target,
        *_stack("decoder", model.decoder, model.d_model),
        output,
    )


def vocabularies(blueprint: Blueprint) -> tuple[Rows, Rows]:
    """The rows of source and target; symbols where only training will tell."""
    if blueprint.model.vocab_size is not None:
        return blueprint.model.vocab_size.source, blueprint.model.vocab_size.target
    tokenizer = blueprint.tokenizer
    across = blueprint.model.embeddings.tie in ("all", "source_target", "source_output")
    one = across or (tokenizer is not None and tokenizer.shared)
    source, target = ("V", "V") if one else ("V_source", "V_target")
    return _learned_rows(tokenizer, "source", source), _learned_rows(tokenizer, "target", target)


def _learned_rows(tokenizer: Tokenizer | None, side: str, symbol: str) -> Rows:
    """The rows that a tokenizer is sure to have; only BPE always reaches its size."""
    recipe = getattr(tokenizer, side, None)
    return recipe.vocab_size if isinstance(recipe, BPE) else symbol


def _embeddings(blueprint: Blueprint) -> tuple[Block, Block, Block]:
    """The three matrices as long as the vocabulary, each once."""
    d_model, tie = blueprint.model.d_model, blueprint.model.embeddings.tie
    source, target = vocabularies(blueprint)
    tied_target = "source embedding" if tie in ("source_target", "all") else ""
    owners = {
        "source_output": "source embedding",
        "all": "source embedding",
        "target_output": "target embedding",
    }
    return (
        Block("source embedding", {"weight": (source, d_model)}, is_table=True),
        Block(
            "target embedding", {"weight": (target, d_model)}, tied_to=tied_target, is_table=True
        ),
        Block("output projection", {"weight": (d_model, target)}, tied_to=owners.get(tie, "")),
    )


def _stack(side: str, stack: Encoder | Decoder, d_model: int) -> Iterator[Block]:
    layers = stack.layers
    norms = ["attention_norm", "feed_forward_norm"]
    if isinstance(stack.positions, Learned):
        shape = (stack.positions.max_length, d_model)
        yield Block(f"{side} positions", {"weight": shape}, is_table=True)
    yield Block(f"{side} attention", _attention(stack.attention, d_model), layers)
    if isinstance(stack, Decoder):
        cross = _attention(stack.cross_attention, d_model)
        norms.insert(1, "cross_attention_norm")
        yield Block(f"{side} cross-attention", cross, layers)
    yield Block(f"{side} feed-forward", _feed_forward(stack.feed_forward, d_model), layers)
    shapes = {key: shape for name in norms for key, shape in _norm(name, stack.norm, d_model)}
    yield Block(f"{side} norms", shapes, layers)
    if stack.norm.placement == "pre":
        yield Block(f"{side} final norm", dict(_norm("norm", stack.norm, d_model)))


def _attention(attention: Attention, d_model: int) -> dict[str, Shape]:
    d_k, d_v = head_widths(attention, d_model)
    heads = attention.heads
    matrices = {
        "q_proj": (d_model, heads * d_k),
        "k_proj": (d_model, heads * d_k),
        "v_proj": (d_model, heads * d_v),
        "out_proj": (heads * d_v, d_model),
    }
    return _linear(matrices, bias=attention.bias)


def _feed_forward(feed_forward: FeedForward, d_model: int) -> dict[str, Shape]:
    d_ff = feed_forward.d_ff
    matrices = {"in_proj": (d_model, d_ff)}
    if feed_forward.activation == "swiglu":
        matrices["gate_proj"] = (d_model, d_ff)
    matrices["out_proj"] = (d_ff, d_model)
    return _linear(matrices, bias=feed_forward.bias)


def _linear(matrices: dict[str, tuple[int, int]], *, bias: bool) -> dict[str, Shape]:
    biases = {f"{name}.bias": (shape[1],) for name, shape in matrices.items()} if bias else {}
    return {**matrices, **biases}


def _norm(name: str, norm: Norm, d_model: int) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (d_model,)
    if not isinstance(norm, RMSNorm):
        yield f"{name}.bias", (d_model,)
