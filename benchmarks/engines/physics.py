"""How much of what the machine can do at most a run takes."""

from __future__ import annotations

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.data import Lengths
from builder.blueprint.plan.blocks import blocks_of
from builder.blueprint.plan.flops import Flops, count_flops
from builder.nn.transformer import Transformer
from engines.cells import BATCHES, Cell, draw_sources
from engines.process import Process

BYTES = {"float32": 4, "int8": 1}
READ_ONCE = ("cross_attention.k_proj", "cross_attention.v_proj")
"""Matrices of the decoder that no step reads."""


class Machine:
    """Measured limits, by threads."""

    def __init__(self, process: Process, threads: set[int]) -> None:
        self.bandwidth = {n: process.ask("bandwidth", threads=n) for n in sorted(threads)}
        self.product_rate = {n: process.ask("product_rate", threads=n) for n in sorted(threads)}

    def share(
        self, cell: Cell, rate: float, network: tuple[Blueprint, Transformer]
    ) -> float | None:
        """What share of the limit `rate` tokens per second are; None where none was measured.

        At batch 1 the limit is the memory, which a step has to read every weight from (unless a
        cache holds them: then the share may be above 1); at the largest batch it is the product of
        matrices, in float32.
        """
        blueprint, model = network
        if cell.batch == 1:
            step = step_bytes(model, BYTES[cell.precision])
            return rate * step / self.bandwidth[cell.threads]
        products = cell.precision == "float32" and cell.ending == "forced"
        if cell.batch == max(BATCHES) and products:
            return rate * token_flops(cell, blueprint) / self.product_rate[cell.threads]
        return None

    def figures(self) -> dict[str, dict[int, float]]:
        """In gigabytes and in thousands of millions of operations, per second."""
        return {
            "bandwidth": {n: round(each / 1e9, 1) for n, each in self.bandwidth.items()},
            "gflops": {n: round(each / 1e9, 1) for n, each in self.product_rate.items()},
        }


def step_bytes(model: Transformer, width: int) -> int:
    """Bytes of the weights that one step reads, matrices of `width` bytes a number."""
    inner = {
        name: weight
        for name, weight in model.decoder.named_parameters()
        if not any(each in name for each in READ_ONCE)
    }
    return sum(
        weight.numel() * (width if weight.dim() > 1 else 4)
        for weight in (model.output, *inner.values())
    )


def token_flops(cell: Cell, blueprint: Blueprint) -> float:
    """Operations of a run for each target token, its share of the encoder's among them."""
    sources = draw_sources(cell.size.vocab_size, cell.batch)
    width = max(map(len, sources))  # padding is computed too
    lengths = Lengths(source=width, target=cell.limit)
    total = sum(count_flops(blocks_of(blueprint), lengths).values(), Flops())
    return cell.beams * total.target.fixed + total.source.fixed * width / cell.limit
