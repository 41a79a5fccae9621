"""Weights before training, drawn from the global generator of torch.

Biases start at 0 and norms at 1, whatever draws the rest.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from builder.nn.decoder import Decoder
from builder.nn.encoder import Encoder
from builder.nn.relative_keys import RelativeKeys
from builder.nn.transformer import Transformer

Draw = Callable[[Tensor], object]


def xavier(model: Transformer, *, encoder_beta: float = 1.0, decoder_beta: float = 1.0) -> None:
    """Draw matrices as Glorot and Bengio (2010) do and embeddings with deviation d_model^-0.5.

    The recipe of the paper's own implementation, which draws relative keys as matrices too; the
    table of a relative bias is drawn like an embedding, as published T5 code for PyTorch does. The
    betas of deepnorm multiply all matrices of their stack but those of queries and keys.
    """
    betas = {
        id(weight): beta
        for stack, beta in ((model.encoder, encoder_beta), (model.decoder, decoder_beta))
        for name, weight in stack.named_parameters()
        if not name.endswith(("q_proj.weight", "k_proj.weight"))
    }

    def matrix(weight: Tensor) -> None:
        nn.init.xavier_uniform_(weight, gain=betas.get(id(weight), 1.0))

    def table(weight: Tensor) -> None:
        nn.init.normal_(weight, std=model.output.shape[1] ** -0.5)

    _draw(model, matrix=matrix, table=table)
    for module in model.modules():
        if isinstance(module, RelativeKeys):
            nn.init.xavier_uniform_(module.table)


def normal(model: Transformer, *, std: float) -> None:
    """Draw matrices and tables with one deviation, as Devlin et al. (2019) do with 0.02."""

    def draw(weight: Tensor) -> None:
        nn.init.normal_(weight, std=std)

    _draw(model, matrix=draw, table=draw)
    for module in model.modules():
        if isinstance(module, RelativeKeys):
            draw(module.table)


def depth_scaled(model: Transformer, *, std: float) -> None:
    """Draw as `normal`, the matrices that end a sub-layer smaller (Radford et al., 2019).

    They are divided by the square root of the number of sub-layers of their stack: as many as are
    run, so that one which layers share counts each time.
    """
    normal(model, std=std)
    stacks: list[tuple[Encoder | Decoder, int]] = [(model.encoder, 2), (model.decoder, 3)]
    for stack, sublayers in stacks:
        for name, weight in stack.named_parameters():
            if name.endswith("out_proj.weight"):
                nn.init.normal_(weight, std=std / (sublayers * len(stack.layers)) ** 0.5)


def _draw(model: Transformer, *, matrix: Draw, table: Draw) -> None:
    for module in model.modules():
        if isinstance(module, nn.Linear):
            matrix(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            table(module.weight)
    tables = (model.source_embedding.tokens.weight, model.target_embedding.tokens.weight)
    if not any(model.output is each for each in tables):
        table(model.output)
