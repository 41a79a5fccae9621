"""A model of `transformers` and ours with the same weights, and how far they differ."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from builder.blueprint.load import load_blueprint
from builder.compile import compile_model
from builder.nn.transformer import BOS_ID, PAD_ID, Transformer
from tests.parity.families import Family

NEVER_WRITTEN = 2
"""The first ids, padding and BOS, whose logits are −inf here and numbers in the library."""


class Twins(NamedTuple):
    """Two models with the same weights."""

    ours: Transformer
    theirs: Any
    their_ids: Tensor
    """The library's id of each of ours: its padding has another number than ours."""


class Difference(NamedTuple):
    """The greatest differences at any real position."""

    states: float
    logits: float


def build_theirs(library: Any, family: Family, **changes: Any) -> Any:
    """Build the library's model in the published size, changed by `changes`."""
    config = getattr(library, family.config)(**{**family.published, **changes})
    model = getattr(library, family.model)(config)
    if not family.tied:  # the library ties them until it reads a checkpoint in which they differ
        model.lm_head.weight = nn.Parameter(model.shared.weight.detach().clone())
    return model.eval()


def twins(library: Any, family: Family) -> Twins:
    """Build both models in the small size and give ours the weights of the other."""
    theirs = build_theirs(library, family, **family.small)
    blueprint = load_blueprint(family.blueprint, family.overrides)
    ours = compile_model(blueprint.model).eval()
    pad_id = theirs.config.pad_token_id
    their_ids = torch.arange(ours.output.shape[0])
    their_ids[[PAD_ID, pad_id]] = their_ids[[pad_id, PAD_ID]]
    draw(theirs, family)
    copy(weights(theirs, family), ours, their_ids)
    return Twins(ours, theirs, their_ids)


def weights(theirs: nn.Module, family: Family) -> dict[str, Tensor]:
    """Return what is trained in the library's model, each weight once, by its name here."""
    trained = {name: each for name, each in theirs.named_parameters() if each.requires_grad}
    if family.learned_bias:
        trained["final_logits_bias"] = theirs.get_buffer("final_logits_bias")[0]
    return {family.name_here(name): each.detach() for name, each in trained.items()}


def draw(theirs: nn.Module, family: Family) -> None:
    """Draw every weight, so that none is a plain 0 or 1 and that values stay near 1."""
    for weight in weights(theirs, family).values():
        noise = 0.15 * torch.randn_like(weight)
        weight.copy_(noise if weight.dim() > 1 else weight + noise)


def copy(weights: dict[str, Tensor], ours: Transformer, their_ids: Tensor) -> None:
    """Fill our model; both have to have the same weights, by name and shape."""
    own = dict(ours.named_parameters())
    assert {name: each.shape for name, each in weights.items()} == {
        name: each.shape for name, each in own.items()
    }
    by_token = {"output", "learned_bias", "source_embedding.tokens.weight"}
    for name, weight in weights.items():
        own[name].data.copy_(weight[their_ids] if name in by_token else weight)


def compare(pair: Twins, length: int) -> Difference:
    """Read sources and write targets of several lengths, padded to the longest."""
    source, target = sequences(pair, length), sequences(pair, length)
    target[:, 0] = BOS_ID
    with torch.no_grad():
        states, logits = pair.ours.encode(source), pair.ours(source, target)
        expected = pair.theirs(
            input_ids=pair.their_ids[source],
            attention_mask=(source != PAD_ID).long(),
            decoder_input_ids=pair.their_ids[target],
            use_cache=False,
        )
    by_our_ids = expected.logits[..., pair.their_ids]
    return Difference(
        greatest((states - expected.encoder_last_hidden_state)[source != PAD_ID]),
        greatest((logits - by_our_ids)[target != PAD_ID][:, NEVER_WRITTEN:]),
    )


def sequences(pair: Twins, length: int) -> Tensor:
    """Draw three sequences, of `length`, half of it, and five tokens."""
    ids = torch.randint(NEVER_WRITTEN, pair.ours.output.shape[0], (3, length))
    for row, end in enumerate((length, length // 2, 5)):
        ids[row, end:] = PAD_ID
    return ids


def greatest(difference: Tensor) -> float:
    """The greatest absolute value; that of nothing is none."""
    assert difference.numel()
    return difference.abs().max().item()


def in_double(pair: Twins) -> Twins:
    """Turn both models to float64, and what the library computes in float32 whatever the type.

    These are T5's norms and the tables of sinusoids: here they follow the same formulas.
    """
    for module in pair.theirs.modules():
        kind = type(module).__name__
        if kind == "T5LayerNorm":
            module.forward = RootMeanSquare(module)
        elif kind == "M2M100SinusoidalPositionalEmbedding":
            rows, width = module.weights.shape
            rates = torch.exp(-math.log(10_000.0) * torch.arange(width // 2) / (width // 2 - 1))
            module.weights = waves(rows, rates)
        elif kind.endswith("SinusoidalPositionalEmbedding"):  # Marian's and Pegasus's
            rows, width = module.weight.shape
            rates = 10_000.0 ** (-torch.arange(0, width, 2) / width)
            module.weight.data = waves(rows, rates)
    return Twins(pair.ours.double(), pair.theirs.double(), pair.their_ids)


class RootMeanSquare(NamedTuple):
    """T5's norm, in the type of its weights."""

    norm: nn.Module

    def __call__(self, x: Tensor) -> Tensor:
        """Scale to a root mean square of one, then by the weights."""
        eps: Any = self.norm.variance_epsilon
        return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * self.norm.weight


def waves(rows: int, rates: Tensor) -> Tensor:
    """All sines, then all cosines, of the first `rows` positions."""
    angles = torch.arange(rows)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)
