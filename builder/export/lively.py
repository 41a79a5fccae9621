"""Random weights under which a network's outputs vary."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch

from builder.errors import ProofFailure
from builder.export.lines import Batch
from builder.export.proof import varied
from builder.generate import Generator
from builder.nn.transformer import Transformer

SEEDS = range(5)
GAINS = (1.0, 0.3, 0.1, 16.0)
"""Of what each sub-layer adds: deep post-norm networks vary where it is little."""


def lively(generator: Generator, batches: Sequence[Batch]) -> Generator:
    """Return a copy of `generator` with weights under which its outputs on `batches` vary.

    An untrained network tends to write one token for ever, whatever it reads; that a file does the
    same shows nothing.

    Raises:
        ProofFailure: No such weights were found.
    """
    for seed in SEEDS:
        for gain in GAINS:
            candidate = generator.with_model(redrawn(generator.decoding.model, seed, gain))
            if varied(_outputs(candidate, batches)):
                return candidate
    raise ProofFailure("no weights were found under which the outputs vary: nothing is proved")


@torch.no_grad()
def redrawn(model: Transformer, seed: int, gain: float) -> Transformer:
    """Return a copy of `model` with random matrices, those that end a sub-layer `gain` times.

    The decoder's norms get random signs: a network whose output matrix is its embedding would
    otherwise write the token again that it has read.
    """
    other = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(seed)
    tables = {id(other.output), *(id(m.weight) for m in other.modules() if _is_table(m))}
    for name, parameter in other.named_parameters():
        if name.startswith("decoder.") and name.endswith("norm.weight"):
            parameter.mul_(torch.randint(2, parameter.shape, generator=generator) * 2 - 1)
        if parameter.dim() < 2:
            continue
        scale = 1.0 if id(parameter) in tables else gain if "out_proj" in name else 2.0
        values = torch.randn(parameter.shape, generator=generator)
        parameter.copy_(values * scale / parameter.shape[-1] ** 0.5)
    return other


def _is_table(module: torch.nn.Module) -> bool:
    return isinstance(module, torch.nn.Embedding)


def _outputs(generator: Generator, batches: Sequence[Batch]) -> list[list[int]]:
    outputs = []
    for source_ids, asked, prefix in batches:
        found = generator.ids(source_ids, asked=asked, prefix=prefix)
        lengths = found.lengths[:, 0].tolist()
        rows = found.target_ids[:, 0].tolist()
        outputs += [ids[:length] for ids, length in zip(rows, lengths, strict=True)]
    return outputs
