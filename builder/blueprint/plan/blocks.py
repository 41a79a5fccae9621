"""A blueprint into the blocks of its network, with the shape of every tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

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
from builder.blueprint.section import at_layer
from builder.blueprint.tokenizer import BPE, Tokenizer

Kind = Literal["table", "self-attention", "cross-attention", "feed-forward", "norms", "projection"]
Shapes = dict[str, Shape]


@dataclass(frozen=True)
class Block:
    """A part of the model, with the shape of each of its tensors."""

    name: str
    kind: Kind
    side: Literal["source", "target"]
    """Whose tokens go through it."""
    shapes: Mapping[str, Shape]
    """Matrices are [input, output], tables [rows, width]."""
    copies: int = 1
    """How many layers have one."""
    tied_to: str = ""
    """The block that owns the tensors, where this one only borrows them."""

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
    table = (target, d_model)
    return (
        Block("source embedding", "table", "source", {"weight": (source, d_model)}),
        Block("target embedding", "table", "target", {"weight": table}, tied_to=tied_target),
        Block(
            "output projection",
            "projection",
            "target",
            {"weight": (d_model, target)},
            tied_to=owners.get(tie, ""),
        ),
    )


def _stack(name: str, stack: Encoder | Decoder, d_model: int) -> Iterator[Block]:
    side: Literal["source", "target"] = "target" if isinstance(stack, Decoder) else "source"

    def layers(part: str, kind: Kind, shapes_of: Callable[[int], Shapes]) -> Iterator[Block]:
        """A block for each group of layers that are alike."""
        shapes = [shapes_of(layer) for layer in range(stack.layers)]
        groups = [each for index, each in enumerate(shapes) if each not in shapes[:index]]
        for each in groups:
            alike = [layer for layer, own in enumerate(shapes) if own == each]
            which = f", {spoken(alike)}" if len(groups) > 1 else ""
            yield Block(f"{name} {part}{which}", kind, side, each, len(alike))

    norms = ["attention_norm", "feed_forward_norm"]
    added = at_layer(stack.positions, 0)
    if isinstance(added, Learned):
        shape = (added.max_length, d_model)
        yield Block(f"{name} positions", "table", side, {"weight": shape})
    own, feed_forward = stack.attention, stack.feed_forward
    yield from layers("attention", "self-attention", lambda i: _attention(own, d_model, i))
    if isinstance(stack, Decoder):
        cross = stack.cross_attention
        norms.insert(1, "cross_attention_norm")
        yield from layers(
            "cross-attention", "cross-attention", lambda i: _attention(cross, d_model, i)
        )
    yield from layers(
        "feed-forward", "feed-forward", lambda i: _feed_forward(feed_forward, d_model, i)
    )
    shapes = {key: shape for each in norms for key, shape in _norm(each, stack.norm, d_model)}
    yield Block(f"{name} norms", "norms", side, shapes, stack.layers)
    if stack.norm.placement == "pre":
        shapes = dict(_norm("norm", stack.norm, d_model))
        yield Block(f"{name} final norm", "norms", side, shapes)


def spoken(layers: Sequence[int]) -> str:
    """Layers, counted from 0 here and from 1 by people: `layer 2`, `layers 1, 3-5`."""
    runs: list[list[int]] = []
    for layer in layers:
        if runs and runs[-1][-1] == layer - 1:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    texts = [f"{run[0] + 1}-{run[-1] + 1}" if len(run) > 1 else f"{run[0] + 1}" for run in runs]
    return f"{'layer' if len(layers) == 1 else 'layers'} {', '.join(texts)}"


def _attention(attention: Attention, d_model: int, layer: int) -> Shapes:
    d_k, d_v = head_widths(attention, d_model, layer)
    heads = at_layer(attention.heads, layer)
    matrices = {
        "q_proj": (d_model, heads * d_k),
        "k_proj": (d_model, heads * d_k),
        "v_proj": (d_model, heads * d_v),
        "out_proj": (heads * d_v, d_model),
    }
    return _linear(matrices, bias=attention.bias)


def _feed_forward(feed_forward: FeedForward, d_model: int, layer: int) -> Shapes:
    d_ff = at_layer(feed_forward.d_ff, layer)
    matrices = {"in_proj": (d_model, d_ff)}
    if feed_forward.activation == "swiglu":
        matrices["gate_proj"] = (d_model, d_ff)
    matrices["out_proj"] = (d_ff, d_model)
    return _linear(matrices, bias=feed_forward.bias)


def _linear(matrices: dict[str, tuple[int, int]], *, bias: bool) -> Shapes:
    biases = {f"{name}.bias": (shape[1],) for name, shape in matrices.items()} if bias else {}
    return {**matrices, **biases}


def _norm(name: str, norm: Norm, d_model: int) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (d_model,)
    if not isinstance(norm, RMSNorm):
        yield f"{name}.bias", (d_model,)
