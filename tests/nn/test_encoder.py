from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import pytest
import torch
from torch import nn

from builder.nn.attention import MultiHeadAttention
from builder.nn.encoder import Encoder, EncoderLayer
from builder.nn.feed_forward import Activation, FeedForward
from builder.nn.mask import Band, Pattern
from builder.nn.residual import Placement, Residual

AsTorch = Callable[[MultiHeadAttention], nn.MultiheadAttention]


def layer(
    placement: Placement = "post", activation: Activation = "relu", *, heads: int = 4
) -> EncoderLayer:
    residuals = [Residual(nn.LayerNorm(16), placement=placement) for _ in range(2)]
    return EncoderLayer(
        MultiHeadAttention(16, heads, bias=True),
        FeedForward(16, 24, activation=activation),
        residuals,
    )


def plain(layers: Sequence[EncoderLayer], masks: Sequence[Pattern]) -> Encoder:
    return Encoder(layers, masks=masks, positions=[None] * len(masks), final_norm=None)


def theirs(ours: EncoderLayer, placement: str, activation: str, as_torch: AsTorch) -> nn.Module:
    result = nn.TransformerEncoderLayer(
        16,
        4,
        24,
        dropout=0.0,
        activation=activation,
        batch_first=True,
        norm_first=placement == "pre",
    )
    result.self_attn = as_torch(ours.self_attention)
    result.linear1, result.linear2 = ours.feed_forward.in_proj, ours.feed_forward.out_proj
    norms = (ours.attention_residual.norm, ours.feed_forward_residual.norm)
    result.norm1, result.norm2 = cast("tuple[nn.LayerNorm, ...]", norms)
    return result


@pytest.mark.parametrize("placement", ["post", "pre"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_the_stack_agrees_with_torch(
    placement: Placement, activation: Activation, as_torch: AsTorch
) -> None:
    layers = [layer(placement, activation) for _ in range(3)]
    norm = nn.LayerNorm(16) if placement == "pre" else None
    ours = Encoder(layers, masks=[Band()] * 3, positions=[None] * 3, final_norm=norm)
    for parameter in ours.parameters():
        nn.init.normal_(parameter, std=0.3)
    x = torch.randn(4, 4, 16)
    real = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 0, 0], [1, 1, 0, 0]]).bool()

    expected = x
    for each in layers:
        twin = theirs(each, placement, activation, as_torch)
        expected = twin(expected, src_key_padding_mask=~real)
    if norm is not None:
        expected = norm(expected)

    torch.testing.assert_close(ours(x, real)[real], expected[real], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("band", [Band(), Band(after=0), Band(2, 0), Band(1, 2), Band(0, 0)])
def test_a_position_is_made_of_what_its_mask_shows(band: Band) -> None:
    """One layer: the input positions with a gradient are those that the mask allows."""
    encoder = plain([layer()], [band])
    real = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    x = torch.randn(2, 6, 16, requires_grad=True)
    positions = torch.arange(6)
    visible = band.allowed(positions, positions)

    for query in range(6):
        (gradient,) = torch.autograd.grad(encoder(x, real)[:, query, 0].sum(), x)
        seen = gradient.abs().sum(-1) > 0
        itself = positions == query
        assert torch.equal(seen, (visible[query] & real) | itself)


def test_a_window_longer_than_the_source_is_full_attention() -> None:
    layers, x = [layer(), layer()], torch.randn(2, 5, 16)
    real = torch.tensor([[True] * 5, [True] * 2 + [False] * 3])

    full = plain(layers, [Band()] * 2)(x, real)
    window = plain(layers, [Band(5, 5)] * 2)(x, real)

    assert torch.equal(window, full)


@torch.no_grad()
def test_every_layer_has_the_mask_of_its_place() -> None:
    layers, x = [layer() for _ in range(3)], torch.randn(2, 6, 16)
    real = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    masks = [Band(1, 0), Band(), Band(1, 0)]

    expected = x
    for each, mask in zip(layers, masks, strict=True):
        expected = plain([each], [mask])(expected, real)

    assert torch.equal(plain(layers, masks)(x, real), expected)
