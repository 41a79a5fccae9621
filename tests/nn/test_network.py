"""The whole network of every variant beside one in plain loops, a sentence at a time."""

from __future__ import annotations

import torch

from benchmarks.fuzz.network import Loops
from builder.blueprint.model import Model
from builder.nn.transformer import Transformer


@torch.no_grad()
def test_every_row_of_a_batch_agrees_with_plain_loops(variant: Model, model: Transformer) -> None:
    """The axes are of equal size (batch = source = target = heads = 4), then all different."""
    loops = Loops(variant, {name: value.numpy() for name, value in model.state_dict().items()})
    equal = [([5, 6, 7, 2], [1, 9, 4, 8]), ([3, 2], [1, 3]), ([2], [1]), ([12, 9, 2], [1, 7, 7])]
    different = [([4, 8, 11, 3, 6, 10, 2], [1, 5, 6, 3, 12, 11]), ([10, 2], [1, 8])]

    for pairs in (equal, different):
        sources, targets = (torch.tensor(padded(side)) for side in zip(*pairs, strict=True))
        logits = model(sources, targets)
        for row, (source, target) in enumerate(pairs):
            expected = torch.from_numpy(loops.logits(source, target))
            torch.testing.assert_close(logits[row, : len(target)], expected, rtol=1e-10, atol=1e-11)


def padded(sequences: tuple[list[int], ...]) -> list[list[int]]:
    longest = max(len(ids) for ids in sequences)
    return [ids + [0] * (longest - len(ids)) for ids in sequences]
