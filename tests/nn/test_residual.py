from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from builder.nn.residual import Placement, Residual, deepnorm


def layer_norm(x: Tensor, eps: float) -> Tensor:
    mean = x.sum(-1, keepdim=True) / x.shape[-1]
    variance = ((x - mean) ** 2).sum(-1, keepdim=True) / x.shape[-1]
    return (x - mean) / (variance + eps).sqrt()


def rms_norm(x: Tensor, eps: float) -> Tensor:
    return x / ((x**2).sum(-1, keepdim=True) / x.shape[-1] + eps).sqrt()


@pytest.mark.parametrize(("ours", "by_hand"), [(nn.LayerNorm, layer_norm), (nn.RMSNorm, rms_norm)])
@pytest.mark.parametrize("shape", [(3, 6), (3, 4, 6)])
def test_a_norm_stands_before_the_sublayer_or_after_the_sum(
    ours: type[nn.LayerNorm | nn.RMSNorm], by_hand: type, shape: tuple[int, ...]
) -> None:
    norm = ours(6, eps=0.1)
    scale = torch.randn(6)
    norm.load_state_dict({**norm.state_dict(), "weight": scale})
    x, matrix = torch.randn(shape), torch.randn(6, 6)

    def sublayer(y: Tensor) -> Tensor:
        return y @ matrix

    post = by_hand(x + x @ matrix, 0.1) * scale
    pre = x + (by_hand(x, 0.1) * scale) @ matrix
    torch.testing.assert_close(
        Residual(norm, placement="post")(x, sublayer), post, rtol=1e-10, atol=1e-12
    )
    torch.testing.assert_close(
        Residual(norm, placement="pre")(x, sublayer), pre, rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("placement", ["post", "pre", "sandwich"])
def test_dropout_falls_on_the_sublayer_and_only_in_training(placement: Placement) -> None:
    residual = Residual(nn.Identity(), placement=placement, dropout=0.5)
    x = torch.full((8, 8), 10.0)

    assert set(residual(x, torch.ones_like).flatten().tolist()) == {10.0, 12.0}
    assert set(residual.eval()(x, torch.ones_like).flatten().tolist()) == {11.0}


def test_a_sandwich_has_a_norm_on_both_sides() -> None:
    before, after = nn.LayerNorm(6, eps=0.1), nn.LayerNorm(6, eps=0.2)
    x, matrix = torch.randn(3, 6), torch.randn(6, 6)
    residual = Residual(before, placement="sandwich", norm_after=after)

    ours = residual(x, lambda y: y @ matrix)

    expected = x + layer_norm(layer_norm(x, 0.1) @ matrix, 0.2)
    torch.testing.assert_close(ours, expected, rtol=1e-10, atol=1e-12)


def test_alpha_weighs_the_identity() -> None:
    x, matrix = torch.randn(3, 6), torch.randn(6, 6)
    residual = Residual(nn.LayerNorm(6, eps=0.1), placement="post", alpha=2.5)

    ours = residual(x, lambda y: y @ matrix)

    torch.testing.assert_close(ours, layer_norm(2.5 * x + x @ matrix, 0.1), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("encoder", "decoder"), [(6, 6), (1, 1), (18, 3)])
def test_deepnorm_takes_its_constants_from_both_depths(encoder: int, decoder: int) -> None:
    ours = deepnorm(encoder, decoder)

    product = encoder**4 * decoder
    assert ours[0].alpha == pytest.approx(0.81 * product**0.0625, rel=1e-12)
    assert ours[0].beta == pytest.approx(0.87 * product**-0.0625, rel=1e-12)
    assert ours[1].alpha ** 4 == pytest.approx(3 * decoder, rel=1e-12)
    assert ours[1].beta ** -4 == pytest.approx(12 * decoder, rel=1e-12)
