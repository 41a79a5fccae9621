from __future__ import annotations

import pytest
import torch

from builder.nn.embedding import Embedding
from builder.nn.positions import LearnedPositions, SinusoidalPositions


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("positions", [None, SinusoidalPositions, LearnedPositions])
def test_vectors_are_scaled_before_positions_are_added(
    scale: bool, positions: type[SinusoidalPositions | LearnedPositions] | None
) -> None:
    if positions is LearnedPositions:
        added: SinusoidalPositions | LearnedPositions | None = LearnedPositions(6, 9)
    else:
        added = SinusoidalPositions(6) if positions else None
    embedding = Embedding(11, 6, scale=scale, positions=added)
    ids = torch.tensor([[3, 7, 7, 0], [10, 2, 1, 1]])

    table = embedding.tokens.weight
    for row, time in [(0, 0), (0, 2), (0, 3), (1, 1), (1, 3)]:
        expected = table[ids[row, time]] * (6**0.5 if scale else 1)
        if added is not None:
            expected = expected + added(torch.arange(9))[time]
        torch.testing.assert_close(embedding(ids)[row, time], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("batch", [1, 3, 4])
def test_a_step_embeds_what_the_whole_does_at_that_position(batch: int) -> None:
    embedding = Embedding(11, 6, positions=SinusoidalPositions(6))
    ids = torch.randint(0, 11, (batch, 4))

    steps = [embedding.step(ids[:, time], torch.tensor(time)) for time in range(4)]

    torch.testing.assert_close(torch.stack(steps, 1), embedding(ids), rtol=1e-10, atol=1e-12)


def test_only_learned_positions_have_a_longest_sequence() -> None:
    assert Embedding(11, 6).max_length is None
    assert Embedding(11, 6, positions=SinusoidalPositions(6)).max_length is None
    learned = Embedding(11, 6, positions=LearnedPositions(6, 4))
    assert learned.max_length == 4
    assert learned(torch.zeros(1, 4, dtype=torch.int64)).shape == (1, 4, 6)


def test_dropout_falls_on_the_sum_and_only_in_training() -> None:
    embedding = Embedding(5, 16, scale=False, positions=LearnedPositions(16, 4), dropout=0.5)
    ids = torch.zeros(1, 4, dtype=torch.int64)

    whole = embedding.eval()(ids)
    dropped = embedding.train()(ids)

    gone = dropped == 0
    assert 0 < gone.sum() < gone.numel()
    assert torch.equal(dropped[~gone], 2 * whole[~gone])


def test_a_norm_falls_on_the_sum_before_dropout() -> None:
    norm = torch.nn.LayerNorm(6)
    torch.nn.init.normal_(norm.weight)
    positions = LearnedPositions(6, 4)
    plain = Embedding(11, 6, positions=positions)
    normed = Embedding(11, 6, positions=positions, norm=norm, dropout=0.5)
    normed.tokens = plain.tokens
    ids = torch.tensor([[3, 7, 7, 2]])

    whole = normed.eval()(ids)
    dropped = normed.train()(ids)

    torch.testing.assert_close(whole, norm(plain(ids)), rtol=1e-10, atol=1e-12)
    assert torch.equal(dropped[dropped != 0], 2 * whole[dropped != 0])
