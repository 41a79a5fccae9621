from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import nn

from builder.blueprint.model import Model
from builder.compile import compile_model
from builder.nn.transformer import Transformer


@contextmanager
def unfilled_memory_is_nan() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def network(tie: str) -> Transformer:
    stack = {"layers": 1, "attention": {"heads": 2, "bias": True}, "feed_forward": {"d_ff": 64}}
    learned = {"kind": "learned", "max_length": 64}
    return compile_model(
        Model.model_validate(
            {
                "d_model": 32,
                "vocab_size": {"source": 64, "target": 64},
                "embeddings": {"tie": tie},
                "encoder": {**stack, "positions": learned},
                "decoder": {**stack, "positions": learned},
            }
        )
    )


ties = pytest.mark.parametrize(
    "tie", ["none", "source_target", "source_output", "target_output", "all"]
)


@ties
def test_every_matrix_is_drawn_as_the_paper_s_own_code_does(tie: str) -> None:
    with unfilled_memory_is_nan():
        model = network(tie)

    assert all(torch.isfinite(parameter).all() for parameter in model.parameters())
    tables = {id(model.output)}
    for module in model.modules():
        if isinstance(module, nn.Linear):
            bound = math.sqrt(6 / sum(module.weight.shape))
            assert 0.95 * bound < module.weight.abs().max() <= bound
            assert module.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.1)
            assert module.bias is None or not module.bias.any()
        elif isinstance(module, nn.Embedding):
            tables.add(id(module.weight))
        elif isinstance(module, nn.LayerNorm):
            assert (module.weight == 1).all()
            assert (module.bias == 0).all()
    for parameter in model.parameters():
        if id(parameter) in tables:
            assert parameter.std().item() == pytest.approx(32**-0.5, rel=0.1)
            assert parameter.mean().abs() < 0.02


@ties
def test_the_seed_settles_every_weight(tie: str) -> None:
    torch.manual_seed(3)
    first = network(tie).state_dict()
    torch.manual_seed(3)
    second = network(tie).state_dict()
    other = network(tie).state_dict()

    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(second["output"], other["output"])
