from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import pytest
import torch
from torch import Tensor, nn

from builder.nn.attention import MultiHeadAttention
from builder.nn.decoder import Decoder, DecoderLayer
from builder.nn.feed_forward import Activation, FeedForward
from builder.nn.mask import Band, Pattern
from builder.nn.residual import Placement, Residual

AsTorch = Callable[[MultiHeadAttention], nn.MultiheadAttention]


def layer(placement: Placement = "post", activation: Activation = "relu") -> DecoderLayer:
    return DecoderLayer(
        MultiHeadAttention(16, 4, bias=True),
        MultiHeadAttention(16, 4, bias=True),
        FeedForward(16, 24, activation=activation),
        [Residual(nn.LayerNorm(16), placement=placement) for _ in range(3)],
    )


def plain(layers: Sequence[DecoderLayer], masks: Sequence[Pattern]) -> Decoder:
    return Decoder(layers, masks=masks, positions=[None] * len(masks), final_norm=None)


def theirs(ours: DecoderLayer, placement: str, activation: str, as_torch: AsTorch) -> nn.Module:
    result = nn.TransformerDecoderLayer(
        16,
        4,
        24,
        dropout=0.0,
        activation=activation,
        batch_first=True,
        norm_first=placement == "pre",
    )
    result.self_attn = as_torch(ours.self_attention)
    result.multihead_attn = as_torch(ours.cross_attention)
    result.linear1, result.linear2 = ours.feed_forward.in_proj, ours.feed_forward.out_proj
    residuals = (ours.self_residual, ours.cross_residual, ours.feed_forward_residual)
    norms = cast("list[nn.LayerNorm]", [residual.norm for residual in residuals])
    result.norm1, result.norm2, result.norm3 = norms
    return result


@pytest.mark.parametrize("placement", ["post", "pre"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_the_stack_agrees_with_torch(
    placement: Placement, activation: Activation, as_torch: AsTorch
) -> None:
    layers = [layer(placement, activation) for _ in range(3)]
    norm = nn.LayerNorm(16) if placement == "pre" else None
    ours = Decoder(layers, masks=[Band()] * 3, positions=[None] * 3, final_norm=norm)
    for parameter in ours.parameters():
        nn.init.normal_(parameter, std=0.3)
    x, memory = torch.randn(4, 4, 16), torch.randn(4, 4, 16)
    real = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 0, 0], [1, 1, 0, 0]]).bool()
    causal = torch.ones(4, 4, dtype=torch.bool).tril()

    expected = x
    for each in layers:
        twin = theirs(each, placement, activation, as_torch)
        expected = twin(expected, memory, tgt_mask=~causal, memory_key_padding_mask=~real)
    if norm is not None:
        expected = norm(expected)

    torch.testing.assert_close(ours(x, memory, real), expected, rtol=1e-10, atol=1e-12)


def all_at_once(decoder: Decoder, x: Tensor, memory: Tensor, real: Tensor) -> Tensor:
    return decoder(x, memory, real)


def one_by_one(decoder: Decoder, x: Tensor, memory: Tensor, real: Tensor) -> Tensor:
    remembered, caches = decoder.remember(memory), decoder.empty_caches(torch.arange(len(x)))
    steps = []
    for time in range(x.shape[1]):
        step, caches = decoder.step(
            x[:, time], remembered, real, caches=caches, position=torch.tensor(time)
        )
        steps.append(step)
    return torch.stack(steps, 1)


Run = Callable[[Decoder, Tensor, Tensor, Tensor], Tensor]
both_ways = pytest.mark.parametrize("run", [all_at_once, one_by_one])


@both_ways
@pytest.mark.parametrize("band", [Band(), Band(after=0), Band(2, 0), Band(2, 2), Band(0, 0)])
def test_a_position_is_made_of_what_its_mask_shows_and_no_future(run: Run, band: Band) -> None:
    """One layer: the input positions with a gradient are those of the mask, up to itself."""
    decoder = plain([layer()], [band])
    x, memory = torch.randn(2, 6, 16, requires_grad=True), torch.randn(2, 3, 16)
    past = torch.ones(6, 6, dtype=torch.bool).tril()
    visible = band.allowed(torch.arange(6), torch.arange(6)) & past

    outputs = run(decoder, x, memory, torch.ones(2, 3, dtype=torch.bool))

    for query in range(6):
        (gradient,) = torch.autograd.grad(outputs[:, query, 0].sum(), x, retain_graph=True)
        seen = gradient.abs().sum(-1) > 0
        assert torch.equal(seen, visible[query].expand(2, 6))


@both_ways
def test_every_position_reads_the_real_source_and_nothing_else(run: Run) -> None:
    decoder = plain([layer()], [Band()])
    x, memory = torch.randn(3, 3, 16), torch.randn(3, 3, 16, requires_grad=True)
    real = torch.tensor([[1, 1, 1], [1, 1, 0], [1, 0, 0]]).bool()

    outputs = run(decoder, x, memory, real)

    for query in range(3):
        (gradient,) = torch.autograd.grad(outputs[:, query, 0].sum(), memory, retain_graph=True)
        assert torch.equal(gradient.abs().sum(-1) > 0, real)


@both_ways
@torch.no_grad()
def test_a_window_longer_than_the_target_is_causal_attention(run: Run) -> None:
    layers, x, memory = [layer(), layer()], torch.randn(2, 5, 16), torch.randn(2, 3, 16)
    real = torch.ones(2, 3, dtype=torch.bool)

    causal = run(plain(layers, [Band(after=0)] * 2), x, memory, real)
    full = run(plain(layers, [Band()] * 2), x, memory, real)
    window = run(plain(layers, [Band(before=5)] * 2), x, memory, real)

    assert torch.equal(full, causal)
    assert torch.equal(window, causal)


@both_ways
@torch.no_grad()
def test_every_layer_has_the_mask_of_its_place(run: Run) -> None:
    layers = [layer() for _ in range(3)]
    x, memory, real = torch.randn(2, 6, 16), torch.randn(2, 3, 16), torch.ones(2, 3).bool()
    masks = [Band(1), Band(), Band(1)]

    expected = x
    for each, mask in zip(layers, masks, strict=True):
        expected = run(plain([each], [mask]), expected, memory, real)

    assert torch.equal(run(plain(layers, masks), x, memory, real), expected)
