"""Weights before training."""

from __future__ import annotations

from torch import nn

from builder.nn.transformer import Transformer


def xavier(model: Transformer) -> None:
    """Draw matrices as Glorot and Bengio (2010) do and embeddings with deviation d_model^-0.5.

    The recipe of the paper's own implementation; biases start at 0, norms at 1. Draws from the
    global generator of torch.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
    tables = (model.source_embedding.tokens.weight, model.target_embedding.tokens.weight)
    if not any(model.output is table for table in tables):
        nn.init.normal_(model.output, std=model.output.shape[1] ** -0.5)
