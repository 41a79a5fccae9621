"""A blueprint into the blocks of its network, with the shape of every tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.model import (
    GATED,
    Attention,
    Decoder,
    Encoder,
    FeedForward,
    LayerNorm,
    Learned,
    Model,
    Norm,
    RelativeBias,
    RelativeKeys,
    has_final,
    head_widths,
    kv_heads,
)
from builder.blueprint.plan.amount import Amount, Rows, Shape
from builder.blueprint.section import at_layer
from builder.blueprint.tokenizer import BPE, Tokenizer

Kind = Literal[
    "table", "self-attention", "cross-attention", "feed-forward", "vectors", "projection"
]
"""What is done with the tensors; vectors are norms and biases."""
Side = Literal["source", "target"]
Shapes = dict[str, Shape]


@dataclass(frozen=True)
class Block:
    """A part of the model, with the shape of each of its tensors."""

    name: str
    kind: Kind
    side: Side
    """Whose tokens go through it."""
    shapes: Mapping[str, Shape]
    """Matrices are [input, output], tables [rows, width]."""
    copies: int = 1
    """How often the model holds the tensors."""
    uses: int = 1
    """How many layers compute with them: more than the copies where layers share theirs."""
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
            "uses": self.uses,
            "tied_to": self.tied_to or None,
            "shapes": {name: list(shape) for name, shape in self.shapes.items()},
            "parameters": self.parameters.as_dict(),
        }


def blocks_of(blueprint: Blueprint) -> tuple[Block, ...]:
    """Every block, in the order of the computation."""
    model = blueprint.model
    source, target, output = _matrices(blueprint)
    encoder, decoder = model.encoder, model.decoder
    return (
        source,
        *_entrance("source", encoder, model),
        *_stack("encoder", encoder, model.d_model),
        target,
        *_entrance("target", decoder, model),
        *_stack("decoder", decoder, model.d_model),
        output,
        *_output_bias(blueprint),
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


def _matrices(blueprint: Blueprint) -> tuple[Block, Block, Block]:
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


def _output_bias(blueprint: Blueprint) -> Iterator[Block]:
    if blueprint.model.embeddings.output.bias:
        _, rows = vocabularies(blueprint)
        yield Block("output bias", "vectors", "target", {"bias": (rows,)})


def _entrance(side: Side, stack: Encoder | Decoder, model: Model) -> Iterator[Block]:
    """What embeddings pass before the first layer."""
    name = "encoder" if side == "source" else "decoder"
    added = at_layer(stack.positions, 0)
    if isinstance(added, Learned):
        shape = (added.first + added.max_length, model.d_model)
        yield Block(f"{name} positions", "table", side, {"weight": shape})
    if model.embeddings.norm:
        shapes = dict(_norm("norm", stack.norm, model.d_model))
        yield Block(f"{side} embedding norm", "vectors", side, shapes)


def _stack(name: str, stack: Encoder | Decoder, d_model: int) -> Iterator[Block]:
    side: Side = "target" if isinstance(stack, Decoder) else "source"
    layers = partial(_layers, name, side, stack)
    yield from _relative_biases(name, side, stack)
    yield from layers(
        "attention",
        "self-attention",
        lambda layer: {
            **_attention(stack.attention, d_model, layer),
            **_relative_keys(stack, d_model, layer),
        },
    )
    if isinstance(stack, Decoder):
        cross = stack.cross_attention
        yield from layers(
            "cross-attention", "cross-attention", lambda layer: _attention(cross, d_model, layer)
        )
    feed_forward = stack.feed_forward
    yield from layers(
        "feed-forward", "feed-forward", lambda layer: _feed_forward(feed_forward, d_model, layer)
    )
    yield from layers("norms", "vectors", lambda _: _norms(stack, d_model))
    if has_final(stack.norm):
        shapes = dict(_norm("norm", stack.norm, d_model))
        yield Block(f"{name} final norm", "vectors", side, shapes)


def _layers(
    name: str,
    side: Side,
    stack: Encoder | Decoder,
    part: str,
    kind: Kind,
    shapes_of: Callable[[int], Shapes],
) -> Iterator[Block]:
    """A block for each group of layers that are alike."""
    shapes = [shapes_of(layer) for layer in range(stack.layers)]
    groups = [each for index, each in enumerate(shapes) if each not in shapes[:index]]
    for each in groups:
        alike = [layer for layer, own in enumerate(shapes) if own == each]
        which = f", {spoken(alike)}" if len(groups) > 1 else ""
        copies = 1 if stack.share_layers else len(alike)
        yield Block(f"{name} {part}{which}", kind, side, each, copies, len(alike))


def spoken(layers: Sequence[int]) -> str:
    """Layers, counted from 0 here and from 1 by people: `layer 2`, `layers 1, 3-5`, `1, 3 … 11`."""
    noun = "layer" if len(layers) == 1 else "layers"
    step = layers[1] - layers[0] if len(layers) > 3 else 1
    if step > 1 and list(layers) == [*range(layers[0], layers[-1] + 1, step)]:
        return f"{noun} {layers[0] + 1}, {layers[1] + 1} … {layers[-1] + 1}"
    runs: list[list[int]] = []
    for layer in layers:
        if runs and runs[-1][-1] == layer - 1:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    texts = [f"{run[0] + 1}-{run[-1] + 1}" if len(run) > 1 else f"{run[0] + 1}" for run in runs]
    return f"{noun} {', '.join(texts)}"


def _attention(attention: Attention, d_model: int, layer: int) -> Shapes:
    d_k, d_v = head_widths(attention, d_model, layer)
    heads, shared = at_layer(attention.heads, layer), kv_heads(attention, layer)
    matrices = {
        "q_proj": (d_model, heads * d_k),
        "k_proj": (d_model, shared * d_k),
        "v_proj": (d_model, shared * d_v),
        "out_proj": (heads * d_v, d_model),
    }
    norms: Shapes = {"q_norm.weight": (d_k,), "k_norm.weight": (d_k,)} if attention.qk_norm else {}
    return {**_linear(matrices, bias=attention.bias), **norms}


def _relative_keys(stack: Encoder | Decoder, d_model: int, layer: int) -> Shapes:
    """The vectors of distances: in a decoder, of those to the left alone."""
    positions = at_layer(stack.positions, layer)
    if not isinstance(positions, RelativeKeys):
        return {}
    d_k, _ = head_widths(stack.attention, d_model, layer)
    ways = 1 if isinstance(stack, Decoder) else 2
    return {"relative_keys": (ways * positions.max_distance + 1, d_k)}


def _relative_biases(name: str, side: Side, stack: Encoder | Decoder) -> Iterator[Block]:
    """A table for each kind of buckets and number of heads, whichever layers use it."""
    users: dict[tuple[int, int, int], list[int]] = {}
    for layer in range(stack.layers):
        bias, heads = at_layer(stack.positions, layer), at_layer(stack.attention.heads, layer)
        if isinstance(bias, RelativeBias):
            users.setdefault((bias.buckets, bias.max_distance, heads), []).append(layer)
    for (buckets, _, heads), layers in users.items():
        which = f", {spoken(layers)}" if len(users) > 1 else ""
        shapes: Shapes = {"weight": (buckets, heads)}
        yield Block(f"{name} relative bias{which}", "table", side, shapes, uses=len(layers))


def _feed_forward(feed_forward: FeedForward, d_model: int, layer: int) -> Shapes:
    d_ff = at_layer(feed_forward.d_ff, layer)
    matrices = {"in_proj": (d_model, d_ff)}
    if feed_forward.activation in GATED:
        matrices["gate_proj"] = (d_model, d_ff)
    matrices["out_proj"] = (d_ff, d_model)
    return _linear(matrices, bias=feed_forward.bias)


def _linear(matrices: dict[str, tuple[int, int]], *, bias: bool) -> Shapes:
    biases = {f"{name}.bias": (shape[1],) for name, shape in matrices.items()} if bias else {}
    return {**matrices, **biases}


def _norms(stack: Encoder | Decoder, d_model: int) -> Shapes:
    """The norms of one layer."""
    names = ["attention_norm", "feed_forward_norm"]
    if isinstance(stack, Decoder):
        names.insert(1, "cross_attention_norm")
    if stack.norm.placement == "sandwich":
        names = [name for each in names for name in (each, f"{each}.after")]
    return {key: shape for name in names for key, shape in _norm(name, stack.norm, d_model)}


def _norm(name: str, norm: Norm, d_model: int) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (d_model,)
    if isinstance(norm, LayerNorm) and norm.bias:
        yield f"{name}.bias", (d_model,)
