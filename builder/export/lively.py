"""Random weights under which a network's outputs vary."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch

from builder.blueprint.generation import Strategy
from builder.errors import ProofFailure
from builder.export.lines import Batch
from builder.export.proof import varied
from builder.generate import generate_ids
from builder.nn.transformer import Transformer

SEEDS = range(5)
GAINS = (1.0, 16.0)
"""Of what each sub-layer adds: post-norm networks vary at the first, pre-norm ones at the last."""


def lively(model: Transformer, strategy: Strategy, batches: Sequence[Batch]) -> Transformer:
    """Return a copy of `model` with weights under which its outputs on `batches` vary.

    An untrained network tends to write one token for ever, whatever it reads; that a file does the
    same shows nothing.

    Raises:
        ProofFailure: No such weights were found.
    """
    for seed in SEEDS:
        for gain in GAINS:
            candidate = redrawn(model, seed, gain)
            if varied(_outputs(candidate, strategy, batches)):
                return candidate
    raise ProofFailure("no weights were found under which the outputs vary: nothing is proved")


@torch.no_grad()
def redrawn(model: Transformer, seed: int, gain: float) -> Transformer:
    """Return a copy of `model` with random matrices, those that end a sub-layer `gain` times."""
    other = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(seed)
    tables = {id(other.output), *(id(m.weight) for m in other.modules() if _is_table(m))}
    for name, parameter in other.named_parameters():
        if parameter.dim() < 2:
            continue
        scale = 1.0 if id(parameter) in tables else gain if "out_proj" in name else 2.0
        values = torch.randn(parameter.shape, generator=generator)
        parameter.copy_(values * scale / parameter.shape[-1] ** 0.5)
    return other


def _is_table(module: torch.nn.Module) -> bool:
    return isinstance(module, torch.nn.Embedding)


def _outputs(model: Transformer, strategy: Strategy, batches: Sequence[Batch]) -> list[list[int]]:
    outputs = []
    for source_ids, max_length in batches:
        found = generate_ids(model, source_ids, strategy=strategy, max_length=max_length)
        lengths = found.lengths[:, 0].tolist()
        rows = found.target_ids[:, 0].tolist()
        outputs += [ids[:length] for ids, length in zip(rows, lengths, strict=True)]
    return outputs
