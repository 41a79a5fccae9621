"""What holds for every choice and for sensible pairs of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from builder.nn.mask import Band, Block, Prefix
from builder.nn.transformer import BOS_ID, PAD_ID, Transformer
from tests.nn.choice import VOCAB, Choice
from tests.nn.reference import Loops

assert_close = partial(torch.testing.assert_close, rtol=1e-9, atol=1e-10)

WINDOW, GLOBAL = Band(2, 1), Band(1, 0, global_tokens=2)
CHOICES: dict[str, dict[str, Any]] = {
    "grouped": {"kv_heads": 2},
    "multi-query, wide scale, qk norm": {"kv_heads": 1, "scale": 1.0, "qk_norm": True},
    "softcap": {"softcap": 0.5},
    "softcap, grouped": {"softcap": 0.5, "kv_heads": 2, "encoder_masks": (WINDOW,)},
    "blocks and windows": {
        "encoder_masks": (Block(3), WINDOW),
        "decoder_masks": (WINDOW, Block(2)),
    },
    "prefix": {"encoder_masks": (Prefix(3), Prefix(99)), "placement": "sandwich"},
    "global tokens": {"encoder_masks": (GLOBAL,), "decoder_masks": (GLOBAL,)},
    "rotary, by layer": {"positions": ("rotary", "partial", "none"), "layers": 3, "kv_heads": 2},
    "rotary, qk norm": {"positions": ("rotary",), "qk_norm": True, "softcap": 2.0},
    "alibi": {"positions": ("alibi",), "placement": "post"},
    "alibi of three heads": {"positions": ("alibi",), "heads": 3},
    "alibi, window": {"positions": ("alibi",), "decoder_masks": (WINDOW,), "kv_heads": 2},
    "bias": {"positions": ("bias",), "scale": 1.0, "output_scale": 0.3},
    "bias, grouped, softcap, window": {
        "positions": ("bias",),
        "kv_heads": 2,
        "softcap": 1.0,
        "encoder_masks": (WINDOW, Band()),
        "decoder_masks": (WINDOW, Band()),
    },
    "keys": {"positions": ("keys",), "decoder_masks": (Band(2),)},
    "keys, grouped, softcap": {"positions": ("keys", "alibi"), "kv_heads": 2, "softcap": 0.7},
    "keys, one query head": {"positions": ("keys",), "heads": 2, "kv_heads": 1},
    "everything by layer": {
        "positions": ("keys", "bias", "alibi", "rotary"),
        "encoder_masks": (Band(), Block(4), GLOBAL),
        "decoder_masks": (Band(), Block(4), GLOBAL),
        "layers": 4,
    },
    "deepnorm": {"placement": "deepnorm", "layers": 3, "added": "sinusoidal"},
    "sandwich": {"placement": "sandwich", "added": "learned", "embedding_norm": True},
    "one layer for all": {"one_layer": True, "layers": 3, "positions": ("bias",)},
    "output": {"output_scale": 0.25, "learned_bias": True, "placement": "post"},
}


@pytest.fixture(params=list(CHOICES.values()), ids=list(CHOICES))
def choice(request: pytest.FixtureRequest) -> Choice:
    return Choice(**request.param)


@pytest.fixture
def network(choice: Choice) -> Transformer:
    return choice.network()


def padded(sequences: list[list[int]], length: int = 0) -> Tensor:
    longest = max(length, *(len(ids) for ids in sequences))
    return torch.tensor([ids + [PAD_ID] * (longest - len(ids)) for ids in sequences])


EQUAL = [([5, 6, 7, 2], [1, 9, 4, 8]), ([3, 2], [1, 3]), ([2], [1]), ([12, 9, 2], [1, 7, 7])]
"""Batch, source, target and heads are 4."""
DIFFERENT = [
    ([4, 8, 11, 3, 6, 10, 7, 5, 2], [1, 5, 6, 3, 12, 11, 4, 9]),
    ([10, 2], [1, 8]),
]
SOURCE, TARGET = DIFFERENT[0]


@torch.no_grad()
def test_every_row_of_a_batch_agrees_with_plain_loops(choice: Choice, network: Transformer) -> None:
    loops = Loops(choice, {name: value.numpy() for name, value in network.state_dict().items()})

    for pairs in (EQUAL, DIFFERENT):
        logits = network(padded([pair[0] for pair in pairs]), padded([pair[1] for pair in pairs]))
        for row, (source, target) in enumerate(pairs):
            expected = torch.from_numpy(loops.logits(source, target))
            assert_close(logits[row, : len(target), 2:], expected[:, 2:])


def loss(network: Transformer, source: Tensor, target: Tensor) -> Tensor:
    logits, wanted = network(source, target)[:, :-1, 2:], target[:, 1:]
    real = wanted != PAD_ID
    return torch.nn.functional.cross_entropy(logits[real], wanted[real] - 2, reduction="sum")


def test_padding_changes_no_gradient_and_every_weight_has_one(network: Transformer) -> None:
    def gradients(source: Tensor, target: Tensor) -> list[Tensor]:
        value = loss(network, source, target)
        parameters = list(network.parameters())
        return list(torch.autograd.grad(value, parameters, allow_unused=True))

    alone = gradients(padded([SOURCE]), padded([TARGET]))
    beside = gradients(padded([SOURCE], 23), padded([TARGET], 17))

    for first, second in zip(alone, beside, strict=True):
        assert torch.isfinite(first).all()
        assert_close(first, second)


@torch.no_grad()
def test_what_stands_on_padding_is_never_seen(network: Transformer) -> None:
    source, target = (padded([pair[side] for pair in DIFFERENT]) for side in (0, 1))
    before = network(source, target)

    network.source_embedding.tokens.weight[PAD_ID] = 1e4
    network.target_embedding.tokens.weight[PAD_ID] = -1e4

    real = target != PAD_ID
    assert torch.equal(network(source, target)[real], before[real])


@torch.no_grad()
def test_the_future_is_never_seen(network: Transformer) -> None:
    source, target = padded([SOURCE]), padded([TARGET])
    before = network(source, target)

    for time in range(1, len(TARGET)):
        changed = target.clone()
        changed[0, time] = 2
        after = network(source, changed)
        assert torch.equal(after[:, :time], before[:, :time])
        assert not torch.equal(after[:, time], before[:, time])


@torch.no_grad()
def test_a_step_with_a_cache_scores_what_the_whole_does(network: Transformer) -> None:
    source = padded([pair[0] for pair in DIFFERENT])
    target = torch.randint(2, VOCAB, (2, 16))
    target[:, 0] = BOS_ID
    whole = network(source, target)

    memory, caches = network.remember(source), network.empty_caches(source)
    for time in range(16):
        logits, caches = network.step(
            target[:, time], torch.tensor(time), memory=memory, caches=caches
        )
        assert_close(logits, whole[:, time])


def test_rows_that_are_never_written_get_no_gradient() -> None:
    network = Choice(learned_bias=True, output_scale=0.3).network()

    loss(network, padded([SOURCE]), padded([TARGET])).backward()

    for weight in (network.output, network.learned_bias):
        assert weight is not None
        assert weight.grad is not None
        assert not weight.grad[:2].any()
        assert weight.grad[2:].any()


@torch.no_grad()
def test_keys_and_values_are_kept_for_their_own_heads_alone(
    choice: Choice, network: Transformer
) -> None:
    source = padded([SOURCE])

    for cache in (*network.remember(source).keys_values, *network.empty_caches(source)):
        assert cache.k.shape[1] == cache.v.shape[1] == (choice.kv_heads or choice.heads)
    assert len(network.empty_caches(source)) == choice.layers


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float16, 0.03), (torch.bfloat16, 0.3)])
@torch.no_grad()
def test_half_precision_stays_near(
    network: Transformer, dtype: torch.dtype, tolerance: float
) -> None:
    source, target = (padded([pair[side] for pair in DIFFERENT]) for side in (0, 1))
    whole = network(source, target)[target != PAD_ID]

    network.to(dtype)
    logits = network(source, target)[target != PAD_ID]
    step, _ = network.step(
        target[:, 0],
        torch.tensor(0),
        memory=network.remember(source),
        caches=network.empty_caches(source),
    )

    assert logits.dtype == step.dtype == dtype
    assert torch.isfinite(step[:, 2:]).all()
    assert ((logits.double() - whole)[:, 2:].abs() < tolerance).all()


def test_an_empty_source_harms_no_one(network: Transformer) -> None:
    source, target = padded([SOURCE, []]), padded([TARGET, TARGET])

    logits = network(source, target)

    assert_close(logits[:1], network(padded([SOURCE]), padded([TARGET])))
    loss(network, source, target).backward()
    assert torch.isfinite(logits[..., 2:]).all()
    for parameter in network.parameters():
        assert parameter.grad is None or torch.isfinite(parameter.grad).all()
