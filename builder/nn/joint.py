"""Projections of one attention into fewer products: the form that is exported, for speed."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from builder.nn.attention import MultiHeadAttention
from builder.nn.decoder import DecoderLayer
from builder.nn.encoder import EncoderLayer


def join_projections(model: nn.Module) -> None:
    """Join what each attention of `model` projects from one tensor; outputs stay as they are.

    A network of this form is neither trained nor saved.
    """
    for module in model.modules():
        if isinstance(module, EncoderLayer | DecoderLayer):
            _join(module.self_attention, queries=True)
        if isinstance(module, DecoderLayer):
            _join(module.cross_attention, queries=False)


def _join(attention: MultiHeadAttention, *, queries: bool) -> None:
    """Join keys and values, and queries where they are projected from the same.

    The scale moves into the queries' weights where no norm stands between.
    """
    if isinstance(attention.q_norm, nn.Identity):
        with torch.no_grad():
            for parameter in attention.q_proj.parameters():
                parameter.mul_(attention.scale)
        attention.scale = 1.0
    parts = [attention.k_proj, attention.v_proj]
    if queries:
        parts.insert(0, attention.q_proj)
        del attention.q_proj
    del attention.k_proj, attention.v_proj
    attention.joint_proj = _one_after_the_other(parts)


def _one_after_the_other(parts: Sequence[nn.Linear]) -> nn.Linear:
    """Return one projection whose output is that of all `parts`."""
    weight = torch.cat([part.weight for part in parts]).detach()
    joint = nn.Linear(weight.shape[1], weight.shape[0], bias=parts[0].bias is not None)
    joint.weight = nn.Parameter(weight)
    if parts[0].bias is not None:
        joint.bias = nn.Parameter(torch.cat([part.bias for part in parts]).detach())
    return joint
