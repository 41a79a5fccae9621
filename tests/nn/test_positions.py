from __future__ import annotations

import cmath
import math

import pytest
import torch
from torch import Tensor

from builder.nn.embedding import Embedding
from builder.nn.positions import LearnedPositions, SinusoidalPositions
from builder.nn.rotary import RotaryPositions


def formula(position: int, column: int, d_model: int, base: float) -> float:
    """PE(pos, 2i) = sin(pos / base^(2i / d_model)), PE(pos, 2i + 1) = cos of the same angle."""
    i = column // 2
    angle = position / base ** (2 * i / d_model)
    return math.cos(angle) if column % 2 else math.sin(angle)


@pytest.mark.parametrize("d_model", [1, 2, 5, 8, 63, 64])
@pytest.mark.parametrize("base", [10_000.0, 37.5])
def test_sinusoidal_is_the_formula_of_the_paper(d_model: int, base: float) -> None:
    positions = [0, 1, 2, 17, 1000]

    table = SinusoidalPositions(d_model, base=base)(torch.tensor(positions))

    expected = [[formula(p, column, d_model, base) for column in range(d_model)] for p in positions]
    torch.testing.assert_close(table, torch.tensor(expected), rtol=1e-10, atol=1e-12)


def test_sinusoidal_rows_of_width_4() -> None:
    table = SinusoidalPositions(4)(torch.arange(2))

    expected = torch.tensor([[0, 1, 0, 1], [0.841471, 0.540302, 0.0099998, 0.99995]])
    torch.testing.assert_close(table, expected, rtol=0, atol=5e-7)


def split_formula(position: int, column: int, d_model: int) -> float:
    """All sines, then all cosines, at the frequencies of the paper, as in Marian and Pegasus."""
    sines = math.ceil(d_model / 2)
    i = column if column < sines else column - sines
    angle = position / 10_000 ** (2 * i / d_model)
    return math.sin(angle) if column < sines else math.cos(angle)


def fairseq_formula(position: int, column: int, d_model: int) -> float:
    """All sines, then all cosines, from 1 to 1 / 10,000, then zeros, as in fairseq and M2M100."""
    half = d_model // 2
    if column >= 2 * half:
        return 0.0
    angle = position * math.exp(-(column % half) * math.log(10_000) / max(half - 1, 1))
    return math.sin(angle) if column < half else math.cos(angle)


@pytest.mark.parametrize("d_model", [1, 2, 3, 5, 8, 63, 64])
@pytest.mark.parametrize("first", [0, 2])
@pytest.mark.parametrize("fairseq", [True, False])
def test_split_sinusoids_are_those_of_published_models(
    d_model: int, first: int, fairseq: bool
) -> None:
    positions = SinusoidalPositions(
        d_model, layout="split", frequencies="fairseq" if fairseq else "paper", first=first
    )
    formula = fairseq_formula if fairseq else split_formula

    table = positions(torch.arange(9))

    expected = [
        [formula(p + first, column, d_model) for column in range(d_model)] for p in range(9)
    ]
    torch.testing.assert_close(table, torch.tensor(expected), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("d_model", [2, 5, 8])
def test_the_frequencies_of_fairseq_may_be_interleaved(d_model: int) -> None:
    half = d_model // 2

    table = SinusoidalPositions(d_model, frequencies="fairseq")(torch.arange(5))

    order = [column // 2 + half * (column % 2) for column in range(2 * half)]
    order += [2 * half] * (d_model % 2)
    expected = [[fairseq_formula(p, column, d_model) for column in order] for p in range(5)]
    torch.testing.assert_close(table, torch.tensor(expected), rtol=1e-10, atol=1e-12)


def turn(rotary: RotaryPositions, x: Tensor, positions: Tensor) -> Tensor:
    return rotary(positions, positions).turn(x)


def turned(x: Tensor, positions: list[int], base: float) -> Tensor:
    """Rotate by multiplying complex numbers, one at a time."""
    half = x.shape[-1] // 2
    result = x.clone()
    for time, position in enumerate(positions):
        for i in range(half):
            turn = cmath.exp(1j * position * base ** (-2 * i / x.shape[-1]))
            for row in range(x.shape[0]):
                for head in range(x.shape[1]):
                    vector = x[row, head, time]
                    z = complex(vector[i].item(), vector[i + half].item()) * turn
                    result[row, head, time, i] = z.real
                    result[row, head, time, i + half] = z.imag
    return result


@pytest.mark.parametrize("shape", [(2, 3, 5, 8), (4, 4, 4, 4), (1, 2, 3, 2)])
@pytest.mark.parametrize("base", [10_000.0, 50.0])
def test_rotary_multiplies_complex_numbers(shape: tuple[int, ...], base: float) -> None:
    x = torch.randn(shape)
    positions = list(range(7, 7 + 3 * shape[2], 3))

    ours = turn(RotaryPositions(shape[-1], base=base), x, torch.tensor(positions))

    torch.testing.assert_close(ours, turned(x, positions, base), rtol=1e-10, atol=1e-12)


def test_rotary_products_depend_on_the_distance_alone() -> None:
    rotary = RotaryPositions(8)
    q, k = torch.randn(1, 1, 1, 8), torch.randn(1, 1, 1, 8)

    def product(query: int, key: int) -> Tensor:
        return (turn(rotary, q, torch.tensor([query])) * turn(rotary, k, torch.tensor([key]))).sum()

    torch.testing.assert_close(product(9, 4), product(105, 100), rtol=1e-10, atol=1e-12)
    assert (product(9, 4) - product(9, 5)).abs() > 1e-3


def test_rotary_leaves_position_0_alone_and_lengths_as_they_are() -> None:
    x = torch.randn(2, 3, 4, 6)
    ours = turn(RotaryPositions(6), x, torch.tensor([0, 1, 50, 3000]))

    assert torch.equal(ours[:, :, 0], x[:, :, 0])
    torch.testing.assert_close(ours.norm(dim=-1), x.norm(dim=-1), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("d_k", "fraction", "width"), [(8, 0.5, 4), (20, 0.1, 2), (6, 1.0, 6)])
def test_rotary_turns_a_part_of_the_head_at_a_slower_pace(
    d_k: int, fraction: float, width: int
) -> None:
    x = torch.randn(2, 3, 4, d_k)
    positions = torch.tensor([0, 8, 40, 400])
    rotary = RotaryPositions(d_k, base=50.0, fraction=fraction, scaling=4.0)

    ours = turn(rotary, x, positions)

    assert torch.equal(ours[..., width:], x[..., width:])
    expected = turned(x[..., :width], [0, 2, 10, 100], 50.0)
    torch.testing.assert_close(ours[..., :width], expected, rtol=1e-10, atol=1e-12)


def test_learned_begins_at_its_first_row() -> None:
    learned = LearnedPositions(6, 5, first=2)

    assert learned.max_length == 5
    assert learned.table.weight.shape == (7, 6)
    assert torch.equal(learned(torch.tensor([4, 0])), learned.table.weight[[6, 2]])


def test_learned_has_a_vector_for_every_position_below_its_limit() -> None:
    learned = LearnedPositions(6, 5)

    assert learned.max_length == 5
    assert torch.equal(learned(torch.tensor([4, 0])), learned.table.weight[[4, 0]])
    with pytest.raises(IndexError):
        learned(torch.tensor([5]))


def test_fixed_positions_are_no_weights() -> None:
    for module in (SinusoidalPositions(8), RotaryPositions(8)):
        assert not module.state_dict()


HALVES = pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float16, 1e-3), (torch.bfloat16, 8e-3)]
)
FAR = [0, 1, 100, 255, 256, 257, 1000, 2049, 5000]
"""Positions, of which bfloat16 itself can hold only those up to 256."""


@HALVES
def test_sinusoidal_is_only_rounded_in_half_precision(dtype: torch.dtype, tolerance: float) -> None:
    embedding = Embedding(3, 16, positions=SinusoidalPositions(16)).to(dtype)
    torch.nn.init.zeros_(embedding.tokens.weight)
    expected = SinusoidalPositions(16)(torch.tensor(FAR))

    for place, position in enumerate(FAR):
        ours = embedding.step(torch.tensor([0]), torch.tensor(position))[0]
        assert ours.dtype == dtype
        torch.testing.assert_close(ours.double(), expected[place], rtol=0, atol=tolerance)


@HALVES
def test_rotary_is_only_rounded_in_half_precision(dtype: torch.dtype, tolerance: float) -> None:
    x = torch.rand(1, 1, len(FAR), 8).to(dtype)

    ours = turn(RotaryPositions(8).to(dtype), x, torch.tensor(FAR))

    assert ours.dtype == dtype
    expected = turn(RotaryPositions(8), x.double(), torch.tensor(FAR))
    torch.testing.assert_close(ours.double(), expected, rtol=0, atol=3 * tolerance)
