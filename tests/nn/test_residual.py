from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from builder.nn.residual import Placement, Residual


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


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_dropout_falls_on_the_sublayer_and_only_in_training(placement: Placement) -> None:
    residual = Residual(nn.Identity(), placement=placement, dropout=0.5)
    x = torch.full((8, 8), 10.0)

    assert set(residual(x, torch.ones_like).flatten().tolist()) == {10.0, 12.0}
    assert set(residual.eval()(x, torch.ones_like).flatten().tolist()) == {11.0}
