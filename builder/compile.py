"""A blueprint into its network: the one file that knows both."""

from __future__ import annotations

from typing import assert_never

import torch
from torch import nn

from builder.blueprint import model as blueprint
from builder.blueprint.section import at_layer
from builder.errors import RunError
from builder.nn.attention import MultiHeadAttention
from builder.nn.decoder import Decoder, DecoderLayer
from builder.nn.embedding import Embedding
from builder.nn.encoder import Encoder, EncoderLayer
from builder.nn.feed_forward import FeedForward
from builder.nn.init import xavier
from builder.nn.mask import Band
from builder.nn.positions import LearnedPositions, SinusoidalPositions
from builder.nn.residual import Residual
from builder.nn.rotary import RotaryPositions
from builder.nn.sight import AttentionPositions
from builder.nn.transformer import Transformer


def compile_model(model: blueprint.Model) -> Transformer:
    """Build the network of `model` with fresh weights, drawn from torch's global generator.

    Raises:
        RunError: The vocabulary sizes are not known.
    """
    if model.vocab_size is None:
        raise RunError("model.vocab_size: unknown; it comes from a tokenizer or from the blueprint")
    source = _embedding(model, model.encoder, model.vocab_size.source)
    target = _embedding(model, model.decoder, model.vocab_size.target)
    output = nn.Parameter(torch.empty(model.vocab_size.target, model.d_model))
    if model.embeddings.tie in ("source_target", "all"):
        target.tokens.weight = source.tokens.weight
    if model.embeddings.tie in ("target_output", "all"):
        target.tokens.weight = output
    if model.embeddings.tie in ("source_output", "all"):
        source.tokens.weight = output
    transformer = Transformer(source, _encoder(model), target, _decoder(model), output)
    xavier(transformer)
    return transformer


def _embedding(model: blueprint.Model, stack: blueprint.Stack, vocab_size: int) -> Embedding:
    return Embedding(
        vocab_size,
        model.d_model,
        scale=model.embeddings.scale,
        positions=_added_positions(at_layer(stack.positions, 0), model.d_model),
        dropout=stack.dropout.embedding,
    )


def _encoder(model: blueprint.Model) -> Encoder:
    stack = model.encoder
    layers = [
        EncoderLayer(
            _attention(stack, stack.attention, model.d_model, layer),
            _feed_forward(stack, model.d_model, layer),
            _residuals(stack, model.d_model, 2),
        )
        for layer in range(stack.layers)
    ]
    masks = [_band(at_layer(stack.mask, layer)) for layer in range(stack.layers)]
    positions = _attention_positions(stack, model.d_model)
    final_norm = _final_norm(stack, model.d_model)
    return Encoder(layers, masks=masks, positions=positions, final_norm=final_norm)


def _decoder(model: blueprint.Model) -> Decoder:
    stack = model.decoder
    layers = [
        DecoderLayer(
            _attention(stack, stack.attention, model.d_model, layer),
            _attention(stack, stack.cross_attention, model.d_model, layer),
            _feed_forward(stack, model.d_model, layer),
            _residuals(stack, model.d_model, 3),
        )
        for layer in range(stack.layers)
    ]
    masks = [_band(at_layer(stack.mask, layer)) for layer in range(stack.layers)]
    positions = _attention_positions(stack, model.d_model)
    final_norm = _final_norm(stack, model.d_model)
    return Decoder(layers, masks=masks, positions=positions, final_norm=final_norm)


def _attention(
    stack: blueprint.Stack, attention: blueprint.Attention, d_model: int, layer: int
) -> MultiHeadAttention:
    d_k, d_v = blueprint.head_widths(attention, d_model, layer)
    return MultiHeadAttention(
        d_model,
        at_layer(attention.heads, layer),
        d_k=d_k,
        d_v=d_v,
        bias=attention.bias,
        dropout=stack.dropout.attention,
    )


def _feed_forward(stack: blueprint.Stack, d_model: int, layer: int) -> FeedForward:
    return FeedForward(
        d_model,
        at_layer(stack.feed_forward.d_ff, layer),
        activation=stack.feed_forward.activation,
        bias=stack.feed_forward.bias,
        dropout=stack.dropout.activation,
    )


def _residuals(stack: blueprint.Stack, d_model: int, count: int) -> list[Residual]:
    return [
        Residual(
            _norm(stack.norm, d_model),
            placement=stack.norm.placement,
            dropout=stack.dropout.residual,
        )
        for _ in range(count)
    ]


def _final_norm(stack: blueprint.Stack, d_model: int) -> nn.Module | None:
    return _norm(stack.norm, d_model) if stack.norm.placement == "pre" else None


def _norm(norm: blueprint.Norm, d_model: int) -> nn.Module:
    match norm:
        case blueprint.LayerNorm(eps=eps):
            return nn.LayerNorm(d_model, eps=eps)
        case blueprint.RMSNorm(eps=eps):
            return nn.RMSNorm(d_model, eps=eps)
        case unreachable:
            assert_never(unreachable)


def _added_positions(
    positions: blueprint.Positions, d_model: int
) -> SinusoidalPositions | LearnedPositions | None:
    match positions:
        case blueprint.Sinusoidal(base=base):
            return SinusoidalPositions(d_model, base=base)
        case blueprint.Learned(max_length=max_length):
            return LearnedPositions(d_model, max_length)
        case blueprint.Rotary() | blueprint.NoPositions():
            return None
        case unreachable:
            assert_never(unreachable)


def _attention_positions(stack: blueprint.Stack, d_model: int) -> list[AttentionPositions | None]:
    """Return those of each layer; equal ones are one module, so that its work is done once."""
    choices = [
        (
            at_layer(stack.positions, layer),
            blueprint.head_widths(stack.attention, d_model, layer)[0],
        )
        for layer in range(stack.layers)
    ]
    modules = {choice: _rotary(*choice) for choice in choices}
    return [modules[choice] for choice in choices]


def _rotary(positions: blueprint.Positions, d_k: int) -> RotaryPositions | None:
    match positions:
        case blueprint.Rotary(base=base):
            return RotaryPositions(d_k, base=base)
        case blueprint.Sinusoidal() | blueprint.Learned() | blueprint.NoPositions():
            return None
        case unreachable:
            assert_never(unreachable)


def _band(mask: blueprint.Mask) -> Band:
    match mask:
        case blueprint.Full():
            return Band()
        case blueprint.Causal():
            return Band(after=0)
        case blueprint.Window(before=before, after=after):
            return Band(before, after)
        case unreachable:
            assert_never(unreachable)
