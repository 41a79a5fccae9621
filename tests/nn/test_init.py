from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn

from builder.blueprint.model import Model
from builder.compile import compile_model
from builder.nn.init import depth_scaled, normal, xavier
from builder.nn.transformer import Transformer
from tests.nn.choice import Choice


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


STD = 0.05
INITIALISERS: dict[str, Callable[[Transformer], None]] = {
    "xavier": xavier,
    "normal": partial(normal, std=STD),
    "depth_scaled": partial(depth_scaled, std=STD),
}
every = pytest.mark.parametrize("draw", INITIALISERS.values(), ids=INITIALISERS)


def choice(positions: str = "bias", **others: Any) -> Transformer:
    return Choice(positions=(positions,), added="learned", learned_bias=True, **others).network()


@every
@pytest.mark.parametrize("positions", ["bias", "keys"])
def test_every_table_is_drawn_and_every_bias_is_0(
    draw: Callable[[Transformer], None], positions: str
) -> None:
    model = choice(positions)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(7.0)

    draw(model)

    for name, parameter in model.named_parameters():
        if name.endswith("_proj.bias"):
            assert not parameter.any()
        elif parameter.dim() > 1:
            assert not (parameter == 7).any()


@pytest.mark.parametrize(("layers", "one_layer"), [(2, False), (3, True)])
def test_what_ends_a_sublayer_is_drawn_smaller(layers: int, one_layer: bool) -> None:
    model = choice(layers=layers, one_layer=one_layer)

    depth_scaled(model, std=STD)

    for stack, sublayers in ((model.encoder, 2), (model.decoder, 3)):
        matrices = {True: torch.zeros(0), False: torch.zeros(0)}
        for name, weight in stack.named_parameters():
            if name.endswith("_proj.weight"):
                ends = "out_proj" in name
                matrices[ends] = torch.cat([matrices[ends], weight.detach().flatten()])
        assert matrices[False].std().item() == pytest.approx(STD, rel=0.1)
        expected = STD / math.sqrt(sublayers * layers)
        assert matrices[True].std().item() == pytest.approx(expected, rel=0.1)


def test_the_betas_of_deepnorm_spare_queries_and_keys() -> None:
    model = choice()
    torch.manual_seed(3)
    xavier(model)
    before = {name: weight.clone() for name, weight in model.named_parameters()}

    torch.manual_seed(3)
    xavier(model, encoder_beta=0.5, decoder_beta=0.25)

    for name, weight in model.named_parameters():
        beta = 1.0
        if name.endswith(("v_proj.weight", "out_proj.weight", "in_proj.weight")):
            beta = 0.5 if name.startswith("encoder") else 0.25
        if not name.endswith(("norm.weight", "norm.bias", "learned_bias")):
            torch.testing.assert_close(weight, beta * before[name], rtol=1e-10, atol=1e-12)


@every
@torch.no_grad()
def test_the_row_of_padding_never_matters(draw: Callable[[Transformer], None]) -> None:
    model = choice()
    draw(model)
    source, target = torch.tensor([[4, 5, 2, 0], [6, 7, 8, 2]]), torch.tensor([[1, 4], [1, 9]])
    before = model(source, target)

    for table in (model.source_embedding, model.target_embedding):
        table.tokens.weight[0] = torch.randn(table.tokens.weight.shape[1])

    assert torch.equal(model(source, target), before)
