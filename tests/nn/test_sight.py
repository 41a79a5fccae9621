from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from builder.nn.bias import ALiBi, RelativeBias
from builder.nn.mask import Band, Pattern
from builder.nn.rotary import RotaryPositions
from builder.nn.sight import AttentionPositions, sights
from builder.weights import weights_of
from tests.nn.choice import Choice

PLACES = torch.arange(4)


def told(*pairs: tuple[Pattern, AttentionPositions | None]) -> list[tuple[Tensor, object]]:
    visible = {pattern: pattern.allowed(PLACES, PLACES)[None] for pattern, _ in pairs}
    found = sights(pairs, visible, query=PLACES, key=PLACES, dtype=torch.float32)
    return [(cast("Tensor", sight.mask), sight.order) for sight in found]


def test_a_bias_is_minus_infinity_where_the_mask_hides() -> None:
    alibi, band = ALiBi(2), Band(1, 0)

    ((mask, order),) = told((band, alibi))

    visible = band.allowed(PLACES, PLACES)
    bias = alibi(PLACES, PLACES).float()
    assert order is None
    assert mask.dtype == torch.float32
    assert torch.equal(mask[0][:, visible], bias[:, visible])
    assert (mask[0][:, ~visible] == float("-inf")).all()


def test_layers_that_agree_share_their_tensors() -> None:
    rotary, bias = RotaryPositions(4), RelativeBias(2, bidirectional=True)

    found = told(
        (Band(1), rotary), (Band(), rotary), (Band(1), bias), (Band(1), None), (Band(1), bias)
    )

    assert found[0][1] is found[1][1]
    assert found[0][0] is found[3][0]
    assert found[2][0] is found[4][0]
    assert found[3][1] is None


def test_what_layers_share_is_one_weight() -> None:
    model = Choice(positions=("bias",), one_layer=True, layers=3).network()
    once = Choice(positions=("bias",), layers=1).network()

    assert [(name, weight.shape) for name, weight in weights_of(model).items()] == [
        (name, weight.shape) for name, weight in weights_of(once).items()
    ]
