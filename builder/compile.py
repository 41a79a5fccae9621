"""A blueprint into its network: the one file that knows both."""

from __future__ import annotations

from typing import assert_never

import torch
from torch import nn

from builder.blueprint import model as blueprint
from builder.blueprint.section import at_layer
from builder.errors import RunError
from builder.nn import init
from builder.nn.attention import MultiHeadAttention
from builder.nn.bias import ALiBi, RelativeBias
from builder.nn.decoder import Decoder, DecoderLayer
from builder.nn.embedding import Embedding
from builder.nn.encoder import Encoder, EncoderLayer
from builder.nn.feed_forward import FeedForward
from builder.nn.mask import Band, Block, Pattern, Prefix
from builder.nn.positions import LearnedPositions, SinusoidalPositions
from builder.nn.relative_keys import RelativeKeys
from builder.nn.residual import DeepNorm, Residual, deepnorm
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
    transformer = Transformer(
        source,
        _encoder(model),
        target,
        _decoder(model),
        output,
        output_scale=model.embeddings.output.scale,
        learned_bias=model.embeddings.output.bias,
    )
    _draw(transformer, model)
    return transformer


def _draw(transformer: Transformer, model: blueprint.Model) -> None:
    """Give every weight its first value."""
    match model.init:
        case blueprint.Xavier():
            encoder, decoder = _constants(model)
            init.xavier(transformer, encoder_beta=encoder.beta, decoder_beta=decoder.beta)
        case blueprint.Normal(std=std):
            init.normal(transformer, std=std)
        case blueprint.DepthScaled(std=std):
            init.depth_scaled(transformer, std=std)
        case unreachable:
            assert_never(unreachable)


def _constants(model: blueprint.Model) -> tuple[DeepNorm, DeepNorm]:
    """What deepnorm multiplies by in each stack; 1 in a stack that is normed otherwise."""
    stacks = model.encoder, model.decoder
    both = deepnorm(model.encoder.layers, model.decoder.layers)
    encoder, decoder = (
        constants if stack.norm.placement == "deepnorm" else DeepNorm(1.0, 1.0)
        for stack, constants in zip(stacks, both, strict=True)
    )
    return encoder, decoder


def _embedding(model: blueprint.Model, stack: blueprint.Stack, vocab_size: int) -> Embedding:
    return Embedding(
        vocab_size,
        model.d_model,
        scale=model.embeddings.scale,
        positions=_added_positions(at_layer(stack.positions, 0), model.d_model),
        norm=_norm(stack.norm, model.d_model) if model.embeddings.norm else None,
        dropout=stack.dropout.embedding,
    )


def _encoder(model: blueprint.Model) -> Encoder:
    stack, (constants, _) = model.encoder, _constants(model)
    layers = [
        EncoderLayer(
            _attention(stack, stack.attention, model.d_model, layer),
            _feed_forward(stack, model.d_model, layer),
            _residuals(stack, model.d_model, constants.alpha, 2),
        )
        for layer in range(1 if stack.share_layers else stack.layers)
    ]
    return Encoder(
        layers * stack.layers if stack.share_layers else layers,
        masks=_masks(stack),
        positions=_attention_positions(stack, model.d_model),
        final_norm=_final_norm(stack, model.d_model),
    )


def _decoder(model: blueprint.Model) -> Decoder:
    stack, (_, constants) = model.decoder, _constants(model)
    layers = [
        DecoderLayer(
            _attention(stack, stack.attention, model.d_model, layer),
            _attention(stack, stack.cross_attention, model.d_model, layer),
            _feed_forward(stack, model.d_model, layer),
            _residuals(stack, model.d_model, constants.alpha, 3),
        )
        for layer in range(1 if stack.share_layers else stack.layers)
    ]
    return Decoder(
        layers * stack.layers if stack.share_layers else layers,
        masks=_masks(stack),
        positions=_attention_positions(stack, model.d_model),
        final_norm=_final_norm(stack, model.d_model),
    )


def _attention(
    stack: blueprint.Stack, attention: blueprint.Attention, d_model: int, layer: int
) -> MultiHeadAttention:
    d_k, d_v = blueprint.head_widths(attention, d_model, layer)
    return MultiHeadAttention(
        d_model,
        at_layer(attention.heads, layer),
        kv_heads=blueprint.kv_heads(attention, layer),
        d_k=d_k,
        d_v=d_v,
        bias=attention.bias,
        scale=attention.scale,
        qk_norm=attention.qk_norm,
        softcap=attention.softcap,
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


def _residuals(stack: blueprint.Stack, d_model: int, alpha: float, count: int) -> list[Residual]:
    placement = stack.norm.placement
    return [
        Residual(
            _norm(stack.norm, d_model),
            placement="post" if placement == "deepnorm" else placement,
            norm_after=_norm(stack.norm, d_model) if placement == "sandwich" else None,
            alpha=alpha,
            dropout=stack.dropout.residual,
        )
        for _ in range(count)
    ]


def _final_norm(stack: blueprint.Stack, d_model: int) -> nn.Module | None:
    return _norm(stack.norm, d_model) if blueprint.has_final(stack.norm) else None


def _norm(norm: blueprint.Norm, d_model: int) -> nn.Module:
    match norm:
        case blueprint.LayerNorm(eps=eps, bias=bias):
            return nn.LayerNorm(d_model, eps=eps, bias=bias)
        case blueprint.RMSNorm(eps=eps):
            return nn.RMSNorm(d_model, eps=eps)
        case unreachable:
            assert_never(unreachable)


def _added_positions(
    positions: blueprint.Positions, d_model: int
) -> SinusoidalPositions | LearnedPositions | None:
    match positions:
        case blueprint.Sinusoidal(base=base, layout=layout, frequencies=frequencies, first=first):
            return SinusoidalPositions(
                d_model, base=base, layout=layout, frequencies=frequencies, first=first
            )
        case blueprint.Learned(max_length=max_length, first=first):
            return LearnedPositions(d_model, max_length, first=first)
        case _:
            return None


def _attention_positions(
    stack: blueprint.Encoder | blueprint.Decoder, d_model: int
) -> list[AttentionPositions | None]:
    """What each layer's attention knows of positions; layers share what has no need to differ."""
    made: dict[tuple[object, ...], AttentionPositions | None] = {}
    found = []
    for layer in range(stack.layers):
        positions, heads = at_layer(stack.positions, layer), at_layer(stack.attention.heads, layer)
        d_k, _ = blueprint.head_widths(stack.attention, d_model, layer)
        own = isinstance(positions, blueprint.RelativeKeys) and not stack.share_layers
        key = (positions, heads, d_k, layer if own else None)
        if key not in made:
            both_ways = isinstance(stack, blueprint.Encoder)
            made[key] = _inner_positions(positions, heads, d_k, both_ways=both_ways)
        found.append(made[key])
    return found


def _inner_positions(
    positions: blueprint.Positions, heads: int, d_k: int, *, both_ways: bool
) -> AttentionPositions | None:
    match positions:
        case blueprint.Rotary(base=base, fraction=fraction, scaling=scaling):
            return RotaryPositions(d_k, base=base, fraction=fraction, scaling=scaling)
        case blueprint.ALiBi():
            return ALiBi(heads)
        case blueprint.RelativeBias(buckets=buckets, max_distance=max_distance):
            return RelativeBias(
                heads, buckets=buckets, max_distance=max_distance, bidirectional=both_ways
            )
        case blueprint.RelativeKeys(max_distance=max_distance):
            return RelativeKeys(d_k, max_distance=max_distance, bidirectional=both_ways)
        case blueprint.Sinusoidal() | blueprint.Learned() | blueprint.NoPositions():
            return None
        case unreachable:
            assert_never(unreachable)


def _masks(stack: blueprint.Encoder | blueprint.Decoder) -> list[Pattern]:
    return [_mask(at_layer(stack.mask, layer)) for layer in range(stack.layers)]


def _mask(mask: blueprint.Mask) -> Pattern:
    match mask:
        case blueprint.Full():
            return Band()
        case blueprint.Causal():
            return Band(after=0)
        case blueprint.Window(before=before, after=after, global_tokens=global_tokens):
            return Band(before, after, global_tokens)
        case blueprint.Block(size=size):
            return Block(size)
        case blueprint.Prefix(length=length):
            return Prefix(length)
        case unreachable:
            assert_never(unreachable)
