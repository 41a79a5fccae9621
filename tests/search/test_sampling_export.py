"""Bars and draws exported: the engine's against PyTorch's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor, nn

from builder.search.constraints import Rules, barred
from builder.search.found import PAD_ID
from builder.search.sampling import draw, hypothesis_words, source_keys, token_words
from tests.search.slow_sampling import NEVER, SEEDS, asked, random_scores

VOCAB = 40
NAMES = ["log_probs", "source_ids", "tokens", "position", "seed", "min_length", "target_prefix"]
NAMES += ["temperature", "top_k", "top_p"]


class Chosen(nn.Module):
    """One choice of options around both functions, with every whole number on the way."""

    def __init__(self, rules: Rules, used: tuple[str, ...]) -> None:
        super().__init__()
        self.rules = rules
        self.used = used

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        given = dict(zip(NAMES, inputs, strict=True))
        options = asked()._replace(**{name: given[name] for name in self.used})
        log_probs, position, beams = given["log_probs"], given["position"], inputs[0].shape[1]
        keys = source_keys(given["source_ids"])
        bars = barred(self.rules, options, given["tokens"], VOCAB)
        if bars is None:
            raise RuntimeError("every choice bars something")
        drawn = draw(log_probs.masked_fill(bars, NEVER), keys, position, options)
        words = hypothesis_words(keys, torch.arange(beams), position, options.seed)
        return keys, words, token_words(words, VOCAB), bars, drawn


CHOICES = {
    "everything": Chosen(Rules(2, (3, 7)), tuple(NAMES[4:])),
    "each word once": Chosen(Rules(1), ("seed", "min_length")),
}
Engine = Callable[..., list[Any]]


def example(rows: int, beams: int, source: int, time: int, prefix: int) -> list[Tensor]:
    ids = torch.randint(3, 50, (rows, source))
    return [
        random_scores(rows, beams, VOCAB, seed=time),
        torch.where(torch.arange(source) < torch.arange(rows)[:, None] + 1, ids, PAD_ID),
        torch.randint(3, 12, (rows, beams, time)),
        torch.tensor(time),
        torch.tensor(SEEDS[(rows + time) % len(SEEDS)]),
        torch.tensor(4),
        torch.where(torch.rand(rows, prefix) < 0.5, torch.randint(3, VOCAB, (rows, prefix)), -1),
        torch.tensor(1.75),
        torch.tensor(15),
        torch.tensor(0.875),
    ]


@pytest.fixture(scope="module", params=CHOICES)
def exported(request: pytest.FixtureRequest) -> tuple[Chosen, Engine]:
    module = CHOICES[request.param]
    batch, beam = {0: "batch"}, {0: "batch", 1: "beam"}
    axes = [beam, {**batch, 1: "source"}, {**beam, 2: "time"}, None, None, None]
    axes += [{**batch, 1: "prefix"}, None, None, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            module,
            tuple(example(3, 2, 5, 7, 4)),
            dynamo=True,
            opset_version=20,
            input_names=NAMES,
            dynamic_shapes=(tuple(axes),),
            verbose=False,
        )
    assert program is not None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    engine = onnxruntime.InferenceSession(
        program.model_proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    wanted = {given.name for given in engine.get_inputs()}

    def run(*inputs: Tensor) -> list[Any]:
        given = {name: value.numpy() for name, value in zip(NAMES, inputs, strict=True)}
        return engine.run(None, {name: given[name] for name in wanted})

    return module, run


@pytest.mark.slow
def test_the_engine_draws_and_bars_what_pytorch_does(exported: tuple[Chosen, Engine]) -> None:
    """At sizes that were not traced: whole numbers, bars and draws are equal."""
    module, run = exported
    torch.manual_seed(0)
    drawn = set()
    for sizes in [
        (1, 1, 1, 0, 1),
        (1, 3, 9, 1, 1),
        (4, 1, 1, 2, 9),
        (2, 5, 3, 30, 2),
        (40, 6, 8, 6, 6),
    ]:
        inputs = example(*sizes)
        expected = module(*inputs)

        for ours, theirs in zip(run(*inputs), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        drawn |= set(expected[-1].flatten().tolist())
    assert len(drawn) > 10
