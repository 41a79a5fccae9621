"""Several targets of one source in one cache: each as if it were alone."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from builder.nn.attention import KeyValue
from builder.nn.transformer import BOS_ID, Memory, Transformer
from tests.nn.choice import VOCAB, Choice
from tests.nn.test_choices import CHOICES, DIFFERENT, padded

assert_close = partial(torch.testing.assert_close, rtol=1e-9, atol=1e-10)
every_choice = pytest.mark.parametrize("choice", list(CHOICES.values()), ids=list(CHOICES))
STEPS = 9


def later(ancestors: Tensor, parents: Tensor) -> Tensor:
    """What belongs to each target's child: what belonged to its parent, and the parent."""
    batch, beams, _ = ancestors.shape
    itself = torch.eye(beams, dtype=torch.bool).expand(batch, -1, -1)
    with_itself = torch.cat([ancestors, itself], dim=2)
    return with_itself.gather(1, parents[..., None].expand(-1, -1, with_itself.shape[2]))


def alone(memory: Memory, beams: int) -> Memory:
    """One copy for each target."""
    return Memory(
        memory.real.repeat_interleave(beams, 0),
        tuple(KeyValue(*(x.repeat_interleave(beams, 0) for x in kv)) for kv in memory.keys_values),
    )


@pytest.mark.parametrize("beams", [1, 3, 4])
@every_choice
@torch.no_grad()
def test_each_target_is_as_it_is_alone_with_its_own_cache(
    choice: dict[str, Any], beams: int
) -> None:
    """Targets take the place of others at random, as beams do; no parent need have a child."""
    network = Choice(**choice).network()
    source = padded([pair[0] for pair in DIFFERENT])
    batch = len(source)
    memory, caches = network.remember(source), network.empty_caches(source)
    each = alone(memory, beams)
    own = network.empty_caches(source.repeat_interleave(beams, 0))
    last = torch.full((batch, beams), BOS_ID)
    ancestors = torch.zeros(batch, beams, 0, dtype=torch.bool)

    for time in range(STEPS):
        logits, caches = network.step(
            last, torch.tensor(time), memory=memory, caches=caches, ancestors=ancestors
        )
        expected, own = network.step(last.flatten(), torch.tensor(time), memory=each, caches=own)
        assert_close(logits, expected.unflatten(0, (batch, beams)))
        parents = torch.randint(beams, (batch, beams))
        rows = (torch.arange(batch)[:, None] * beams + parents).flatten()
        own = tuple(KeyValue(*(x[rows] for x in cache)) for cache in own)
        ancestors, last = later(ancestors, parents), torch.randint(2, VOCAB, (batch, beams))


@every_choice
@torch.no_grad()
def test_what_a_dead_target_reads_harms_no_other(choice: dict[str, Any]) -> None:
    network = Choice(**choice).network()
    source = padded([pair[0] for pair in DIFFERENT])

    def run(dead: int) -> Tensor:
        memory, caches = network.remember(source), network.empty_caches(source)
        ancestors = torch.zeros(2, 3, 0, dtype=torch.bool)
        for time in range(5):
            last = torch.tensor([[time + 2, dead, 7 - time]]).expand(2, -1)
            logits, caches = network.step(
                last, torch.tensor(time), memory=memory, caches=caches, ancestors=ancestors
            )
            ancestors = later(ancestors, torch.tensor([[0, dead % 3, 2]]).expand(2, -1))
        assert torch.isfinite(logits[..., 2:]).all()
        return logits[:, [0, 2]]

    assert_close(run(0), run(5))


class Largest(TorchDispatchMode):
    """Notes the most numbers that any new tensor with an axis of `length` holds."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length
        self.numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor) and self.length in result.shape and not func.is_view:
            self.numbers = max(self.numbers, result.numel())
        return result


@pytest.mark.parametrize("kv_heads", [4, 2])
@torch.no_grad()
def test_the_memory_is_copied_for_no_target(kv_heads: int) -> None:
    """Neither it nor the cache, which is only made longer."""
    network: Transformer = Choice(kv_heads=kv_heads, layers=1).network()
    source = torch.randint(2, VOCAB, (2, 31))
    memory, caches = network.remember(source), network.empty_caches(source)
    ancestors = torch.zeros(2, 2, 0, dtype=torch.bool)
    for time in range(14):
        last = torch.full((2, 2), 5)
        slots = caches[0].k.shape[2] + 2
        with Largest(31) as of_memory, Largest(slots) as of_cache:
            _, caches = network.step(
                last, torch.tensor(time), memory=memory, caches=caches, ancestors=ancestors
            )
        ancestors = later(ancestors, torch.tensor([[1, 1], [0, 1]]))

    assert 0 < of_memory.numbers <= memory.keys_values[0].k.numel()
    assert 0 < of_cache.numbers <= caches[0].k.numel()
