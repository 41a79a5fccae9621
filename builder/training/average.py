"""Several checkpoints into one set of weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from builder.training.checkpoint import WEIGHTS
from builder.weights import read_tensors


def average_weights(checkpoints: Sequence[Path]) -> dict[str, Tensor]:
    """Average the weights of checkpoints (Vaswani et al., 2017, section 6.1), in float64."""
    sums: dict[str, Tensor] = {}
    for path in checkpoints:
        for name, tensor in read_tensors(path / WEIGHTS).items():
            sums[name] = sums[name] + tensor if name in sums else tensor.to(torch.float64)
    return {
        name: (total / len(checkpoints)).to(torch.get_default_dtype())
        for name, total in sums.items()
    }


@torch.no_grad()
def set_weights(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Fill the parameters of `model`."""
    for name, parameter in model.named_parameters():
        parameter.copy_(weights[name])
