from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from builder.nn.attention import KeyValue, MultiHeadAttention
from builder.nn.mask import Band
from builder.nn.rotary import RotaryPositions
from builder.nn.sight import Sight

assert_close = partial(torch.testing.assert_close, rtol=1e-10, atol=1e-12)


def slow(ours: MultiHeadAttention, query: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
    """Attention in loops: of each query, over the keys that it may see and no others."""

    def project(name: str, x: Tensor) -> np.ndarray:
        linear: nn.Linear = getattr(ours, name)
        flat = x.numpy() @ linear.weight.detach().numpy().T
        if linear.bias is not None:
            flat = flat + linear.bias.detach().numpy()
        return flat.reshape(*flat.shape[:-1], ours.heads, -1)  # [batch, time, heads, d]

    q, k, v = project("q_proj", query), project("k_proj", memory), project("v_proj", memory)
    batch, time, heads, d_k = q.shape
    mixed = np.zeros((batch, time, heads, v.shape[-1]))
    for b, i, h in np.ndindex(batch, time, heads):
        seen = [j for j in range(k.shape[1]) if mask[b, i, j]]
        weights = [math.exp(q[b, i, h] @ k[b, j, h] / math.sqrt(d_k)) for j in seen]
        for j, weight in zip(seen, weights, strict=True):
            mixed[b, i, h] += weight / sum(weights) * v[b, j, h]
    out = mixed.reshape(batch, time, -1) @ ours.out_proj.weight.detach().numpy().T
    bias = ours.out_proj.bias
    return torch.from_numpy(out if bias is None else out + bias.detach().numpy())


def some_mask(batch: int, query: int, key: int) -> Tensor:
    """A random mask of which no row is empty."""
    mask = torch.rand(batch, query, key) < 0.5
    mask[:, :, 0] |= ~mask.any(dim=-1)
    return mask


@pytest.mark.parametrize("heads", [1, 2, 8])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_agrees_with_torch(
    as_torch: Callable[[MultiHeadAttention], nn.MultiheadAttention],
    heads: int,
    bias: bool,
    masked: bool,
) -> None:
    ours = MultiHeadAttention(16, heads, bias=bias)
    query, memory = torch.randn(3, 5, 16), torch.randn(3, 7, 16)
    mask = some_mask(1, 5, 7) if masked else None

    expected, _ = as_torch(ours)(
        query, memory, memory, attn_mask=None if mask is None else ~mask[0]
    )

    assert_close(ours(query, memory, mask), expected)


SIZES = [(4, 4, 4, 4), (2, 3, 5, 1), (3, 2, 6, 4), (1, 1, 1, 2)]
"""Batch, query, key and heads: all equal, where a wrong axis shows nowhere else; all different."""


@pytest.mark.parametrize(("batch", "query", "key", "heads"), SIZES)
@pytest.mark.parametrize(("d_k", "d_v"), [(3, 5), (6, 2), (4, 4), (4, None), (None, None)])
@torch.no_grad()
def test_agrees_with_slow_loops(
    batch: int, query: int, key: int, heads: int, d_k: int | None, d_v: int | None
) -> None:
    ours = MultiHeadAttention(8, heads, d_k=d_k, d_v=d_v, bias=True)
    queries, memory = torch.randn(batch, query, 8), torch.randn(batch, key, 8)
    whole = some_mask(batch, query, key)
    by_key, by_query = some_mask(batch, 1, key), some_mask(1, query, key)

    for mask in (whole, by_key, by_query):
        expected = slow(ours, queries, memory, mask.expand(batch, query, key))
        assert_close(ours(queries, memory, mask), expected)
    everything = torch.ones(batch, query, key, dtype=torch.bool)
    assert_close(ours(queries, memory), slow(ours, queries, memory, everything))


@pytest.mark.parametrize(("batch", "query", "key", "heads"), SIZES)
@torch.no_grad()
def test_one_query_sees_what_many_do(batch: int, query: int, key: int, heads: int) -> None:
    ours = MultiHeadAttention(8, heads, d_k=3, d_v=5, bias=True)
    queries, memory = torch.randn(batch, query, 8), torch.randn(batch, key, 8)
    mask = some_mask(batch, 1, key)

    projected = ours.keys_values(memory)
    masked = [ours.look(each, projected, mask[:, 0]) for each in queries.unbind(1)]
    free = [ours.look(each, projected, None) for each in queries.unbind(1)]

    assert_close(torch.stack(masked, 1), ours(queries, memory, mask))
    assert_close(torch.stack(free, 1), ours(queries, memory))


@pytest.mark.parametrize("rotary", [True, False])
@pytest.mark.parametrize("before", [None, 0, 2, 99])
@torch.no_grad()
def test_a_cache_extended_position_by_position_equals_the_whole(
    rotary: bool, before: int | None
) -> None:
    ours = MultiHeadAttention(8, 2, d_k=4, d_v=3)
    turns = RotaryPositions(4)
    x = torch.randn(3, 6, 8)
    positions = torch.arange(6)
    band = Band(before, 0)

    cache = ours.empty_cache(torch.arange(3))
    steps = []
    for time in range(6):
        here, seen = positions[time, None], positions[: time + 1]
        sight = Sight(band.allowed(here, seen)[None], turns(here, seen) if rotary else None)
        step, cache = ours.extend(x[:, time], cache, sight)
        steps.append(step)

    order = turns(positions, positions) if rotary else None
    whole = ours(x, x, band.allowed(positions, positions)[None], order)
    k, v = ours.keys_values(x)
    assert_close(torch.stack(steps, 1), whole)
    assert_close(cache, KeyValue(order.turn(k) if order else k, v))


@torch.no_grad()
def test_one_query_sees_all_five_cached_keys_and_itself() -> None:
    ours = MultiHeadAttention(8, 2)
    x = torch.randn(2, 6, 8)

    step, cache = ours.extend(x[:, 5], ours.keys_values(x[:, :5]), Sight())

    seen = torch.ones(2, 1, 6, dtype=torch.bool)
    assert_close(step, slow(ours, x[:, 5:], x, seen)[:, 0])
    assert cache.k.shape == (2, 2, 6, 4)


@pytest.mark.parametrize("heads", [1, 4])
@torch.no_grad()
def test_a_hidden_key_is_a_removed_key(heads: int) -> None:
    ours = MultiHeadAttention(8, heads)
    query, memory = torch.randn(4, 4, 8), torch.randn(4, 4, 8)
    mask = torch.tensor([True, True, False, True])

    hidden = ours(query, memory, mask.expand(1, 1, 4))
    looked = ours.look(query[:, 3], ours.keys_values(memory), mask[None])

    for key in range(4):
        removed = ours(query, memory[:, [j for j in range(4) if j != key]])
        if key == 2:
            assert_close(hidden, removed)
            assert_close(looked, removed[:, 3])
        else:
            assert not torch.allclose(hidden, removed, rtol=1e-3)


def test_the_worked_queries() -> None:
    h = torch.tensor([[0.9, 0.3, 0.2, 0.7]])
    w_q = torch.tensor([[0.5, 0.2, 0.8], [0.1, 0.9, 0.3], [0.7, 0.4, 0.2], [0.6, 0.5, 0.1]])
    attention = MultiHeadAttention(4, 1, d_k=3)
    attention.q_proj.weight = attention.k_proj.weight = nn.Parameter(w_q.T)

    expected = torch.tensor([1.04, 0.88, 0.92])
    assert_close(attention.q_proj(h)[0], expected)
    assert_close(attention.keys_values(h[None]).k[0, 0, 0], expected)


Q = torch.tensor([[1, 2], [3, 4], [5, 6]], dtype=torch.float64)
K = torch.tensor([[2, 1], [0, 3], [4, 2]], dtype=torch.float64)
QK = torch.tensor([[4, 6, 8], [10, 12, 20], [16, 18, 32]], dtype=torch.float64)


@torch.no_grad()
def weights_of(row: int, mask: Tensor | None) -> Tensor:
    """The attention weights themselves, as the values are the unit vectors."""
    attention = MultiHeadAttention(3, 1, d_k=2, d_v=3)
    for linear in (attention.q_proj, attention.out_proj):
        nn.init.eye_(linear.weight)
    query = torch.cat([Q[row], torch.zeros(1)])[None]
    return attention.look(query, KeyValue(K[None, None], torch.eye(3)[None, None]), mask)[0]


def test_the_worked_weights() -> None:
    expected = torch.tensor([0.000846, 0.003478, 0.995676])
    torch.testing.assert_close(weights_of(1, None), expected, rtol=0, atol=5e-7)
    for row in range(3):
        expected = (QK[row] / 2**0.5).softmax(0)
        assert_close(weights_of(row, None), expected)


def test_the_worked_causal_rows_keep_one_two_and_three_keys() -> None:
    attention = MultiHeadAttention(2, 1)
    for linear in (attention.q_proj, attention.k_proj, attention.v_proj, attention.out_proj):
        nn.init.eye_(linear.weight)
    causal = Band(after=0).allowed(torch.arange(3), torch.arange(3))

    together = attention(Q[None], K[None], causal[None])[0]

    for row in range(3):
        seen = row + 1
        weights = (QK[row, :seen] / 2**0.5).softmax(0)
        ours = weights_of(row, causal[row][None])
        assert_close(ours[:seen], weights)
        assert (ours[seen:] == 0).all()
        assert_close(together[row], weights @ K[:seen])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("softcap", [None, 3.0])
@pytest.mark.parametrize("kv_heads", [1, 2])
@torch.no_grad()
def test_a_hidden_key_weighs_exactly_nothing_in_every_precision(
    dtype: torch.dtype, softcap: float | None, kv_heads: int
) -> None:
    ours = MultiHeadAttention(8, 2, kv_heads=kv_heads, softcap=softcap, bias=True).to(dtype)
    x = torch.randn(2, 5, 8, dtype=dtype)
    huge = x.clone()
    huge[:, 3:] = 1e4
    mask = torch.tensor([True, True, True, False, False])

    biased = torch.randn(1, 2, 5, 5).masked_fill(~mask, float("-inf")).to(dtype)

    for memory in (x, huge):
        assert torch.isfinite(ours(x, memory, mask.expand(1, 1, 5))).all()
    assert torch.equal(ours(x, x, biased), ours(x, huge, biased))
    assert torch.equal(ours(x, x, mask.expand(1, 1, 5)), ours(x, huge, mask.expand(1, 1, 5)))
    assert torch.equal(
        ours.look(x[:, 0], ours.keys_values(x), mask[None]),
        ours.look(x[:, 0], ours.keys_values(huge), mask[None]),
    )


@pytest.mark.parametrize("softcap", [None, 3.0])
def test_dropout_falls_on_the_weights_and_only_in_training(softcap: float | None) -> None:
    ours = MultiHeadAttention(1, 1, dropout=0.5, softcap=softcap)
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.fill_(1.0)
    x = torch.ones(64, 2, 1)  # of two equal weights, each is kept and doubled or not

    assert set(ours(x, x).flatten().tolist()) == {0.0, 1.0, 2.0}
    assert set(ours.eval()(x, x).flatten().tolist()) == {1.0}


@torch.no_grad()
def test_a_hidden_key_weighs_nothing_beside_the_unlikeliest() -> None:
    ours = MultiHeadAttention(8, 2)
    query = torch.ones(1, 1, 8)
    memory = torch.randn(1, 3, 8)
    for linear in (ours.q_proj, ours.k_proj):
        nn.init.eye_(linear.weight)
    memory[:, :2] -= 1e6  # its products with the query are far below any constant for -inf
    mask = torch.tensor([[True, True, False]])

    expected = ours(query, memory[:, :2])
    assert_close(ours(query, memory, mask[None]), expected)
    assert_close(ours.look(query[:, 0], ours.keys_values(memory), mask), expected[:, 0])


@pytest.mark.parametrize(
    ("given", "widths"),
    [({}, (4, 4)), ({"d_k": 6}, (6, 6)), ({"d_v": 3}, (4, 3)), ({"d_k": 6, "d_v": 3}, (6, 3))],
)
def test_d_v_follows_d_k_which_follows_d_model(
    given: dict[str, int], widths: tuple[int, int]
) -> None:
    ours = MultiHeadAttention(8, 2, **given)  # type: ignore[arg-type]
    d_k, d_v = widths

    assert ours.q_proj.weight.shape == ours.k_proj.weight.shape == (2 * d_k, 8)
    assert ours.v_proj.weight.shape == (2 * d_v, 8)
    assert ours.out_proj.weight.shape == (8, 2 * d_v)
    assert [part.shape[-1] for part in ours.empty_cache(torch.arange(1))] == [d_k, d_v]


def test_heads_that_share_keys_have_one_projection() -> None:
    ours = MultiHeadAttention(8, 4, kv_heads=2, d_k=3, d_v=5, qk_norm=True)

    assert ours.q_proj.weight.shape == (12, 8)
    assert ours.k_proj.weight.shape == (6, 8)
    assert ours.v_proj.weight.shape == (10, 8)
    assert ours.q_norm.weight.shape == ours.k_norm.weight.shape == (3,)
    assert [part.shape[1] for part in ours.empty_cache(torch.arange(1))] == [2, 2]


@pytest.mark.parametrize(("kv_heads", "softcap"), [(4, None), (2, None), (1, 3.0)])
@pytest.mark.parametrize("biased", [True, False])
def test_operations_are_counted(kv_heads: int, softcap: float | None, biased: bool) -> None:
    """The plan is compared with torch's own counter, on a device without values."""
    with torch.device("meta"):
        ours = MultiHeadAttention(8, 4, kv_heads=kv_heads, softcap=softcap)
        x = torch.zeros(3, 5, 8)
        mask = torch.zeros(3, 4, 5, 5, requires_grad=True) if biased else None
        with FlopCounterMode(display=False) as counter:
            ours(x, x, mask)

    projections = 2 * 3 * 5 * (8 * 8 + 2 * 8 * 2 * kv_heads + 8 * 8)
    products = 2 * 2 * 3 * 4 * 5 * 5 * 2
    assert counter.get_total_flops() == projections + products


def test_no_bias_unless_asked_for() -> None:
    assert {name for name, _ in MultiHeadAttention(8, 2).named_parameters()} == {
        "q_proj.weight",
        "k_proj.weight",
        "v_proj.weight",
        "out_proj.weight",
    }
