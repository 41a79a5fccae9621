from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from builder.blueprint.model import Model
from builder.compile import compile_model
from builder.nn.transformer import Transformer
from builder.search import greedy
from builder.search.greedy import BOS_ID, EOS_ID, PAD_ID, Found, State

VOCABULARY = 9


class Script:
    """Random logits whose likeliest token at each step is the scripted one."""

    def __init__(self, *rows: list[int]) -> None:
        self.rows = rows
        self.calls = 0
        self.log_probs: list[Tensor] = []
        self.read: list[list[int]] = []

    def __call__(self, state: State) -> Tensor:
        assert state.position.item() == self.calls
        logits = torch.randn(len(self.rows), VOCABULARY)
        logits[:, [PAD_ID, BOS_ID]] = float("-inf")
        for row, tokens in enumerate(self.rows):
            if self.calls < len(tokens):
                logits[row, tokens[self.calls]] = 5.0
            else:
                logits[row] = float("nan")  # nobody may look at what follows the end
        self.calls += 1
        self.read.append(state.last.tolist())
        self.log_probs.append(logits.log_softmax(-1))
        return logits

    def score(self, row: int) -> Tensor:
        steps = enumerate(self.rows[row][: self.calls])
        return torch.stack([self.log_probs[step][row, token] for step, token in steps]).sum()


def test_a_row_that_ended_shows_nothing_more_and_the_loop_stops_with_the_last() -> None:
    early, late = [7, EOS_ID], [3, 4, 5, 6, 7, 8, 3, 4, EOS_ID]
    script = Script(early, late)

    found = greedy.search(script, torch.tensor([50, 50]))

    assert script.calls == 9
    assert found.target_ids.tolist() == [[early + [PAD_ID] * 7], [late]]
    assert found.lengths.tolist() == [[2], [9]]
    assert found.ended.tolist() == [[True], [True]]
    expected = torch.stack([script.score(0), script.score(1)])[:, None]
    torch.testing.assert_close(found.scores, expected)


def test_every_step_reads_what_the_last_one_wrote() -> None:
    script = Script([7, EOS_ID], [3, 4, EOS_ID])

    greedy.search(script, torch.tensor([9, 9]))

    assert script.read == [[BOS_ID, BOS_ID], [7, 3], [EOS_ID, 4]]


def test_a_row_at_its_limit_is_cut_off_and_others_go_on() -> None:
    script = Script([3, 4], [5, 6, 7, EOS_ID], [8], [3, 4, EOS_ID])

    found = greedy.search(script, torch.tensor([2, 9, 1, 3]))

    assert found.target_ids.tolist() == [
        [[3, 4, 0, 0]],
        [[5, 6, 7, 2]],
        [[8, 0, 0, 0]],
        [[3, 4, 2, 0]],
    ]
    assert found.lengths.tolist() == [[2], [4], [1], [3]]
    assert found.ended.tolist() == [[False], [True], [False], [True]]
    scores = [script.score(row) for row in range(4)]
    torch.testing.assert_close(found.scores, torch.stack(scores)[:, None])


def test_the_outputs_have_the_types_of_the_package() -> None:
    found = greedy.search(Script([EOS_ID]), torch.tensor([4]))

    assert [value.dtype for value in found] == [
        torch.int64,
        torch.float32,
        torch.int64,
        torch.bool,
    ]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_scores_are_only_rounded_from_float32(dtype: torch.dtype) -> None:
    logits = (torch.randn(3, 64) * 3 + 20).to(dtype)
    limits = torch.full((3,), 5)

    state = greedy.advance(greedy.start(limits), logits, limits)

    expected = logits.double().log_softmax(-1).amax(-1).float()
    torch.testing.assert_close(state.scores, expected, rtol=1e-5, atol=1e-5)


def test_of_equal_tokens_the_first_is_taken() -> None:
    """As ONNX does."""
    logits = torch.full((1, VOCABULARY), -1.0)
    logits[0, [4, 6, 8]] = 3.0

    state = greedy.advance(greedy.start(torch.tensor([3])), logits, torch.tensor([3]))

    assert state.tokens.tolist() == [[4]]


def network(tie: str, positions: object, seed: int) -> Transformer:
    stack = {
        "layers": 2,
        "attention": {"heads": 2},
        "feed_forward": {"d_ff": 24},
        "positions": positions,
    }
    section = {
        "d_model": 16,
        "vocab_size": VOCABULARY,
        "embeddings": {"tie": tie},
        "encoder": stack,
        "decoder": {**stack, "cross_attention": {"heads": 2}},
    }
    model = compile_model(Model.model_validate(section)).double().eval()
    torch.manual_seed(seed)
    for parameter in model.parameters():
        if parameter.ndim == 2:
            nn.init.normal_(parameter, std=0.4)
    model.output_bias[EOS_ID] = 1.0
    return model


networks = pytest.mark.parametrize(
    ("tie", "positions", "seed"),
    [
        ("none", "sinusoidal", 17),
        ("target_output", "rotary", 4),
        ("source_target", {"kind": "learned", "max_length": 30}, 8),
        ("none", "none", 70),
    ],
)
"""With these seeds some outputs end, at different lengths, and others are cut off."""


def some_sources(count: int) -> list[list[int]]:
    generator = torch.Generator().manual_seed(7)
    lengths = torch.randint(1, 9, (count,), generator=generator).tolist()
    drawn = [torch.randint(3, VOCABULARY, (length,), generator=generator) for length in lengths]
    return [[*ids.tolist(), EOS_ID] for ids in drawn]


def batch_of(sources: list[list[int]]) -> Tensor:
    longest = max(map(len, sources))
    return torch.tensor([ids + [PAD_ID] * (longest - len(ids)) for ids in sources])


@torch.no_grad()
def searched(model: Transformer, sources: list[list[int]], limits: list[int]) -> Found:
    source_ids = batch_of(sources)
    memory, caches = model.remember(source_ids), model.empty_caches(source_ids)

    def step(state: State) -> Tensor:
        nonlocal caches
        logits, caches = model.step(state.last, state.position, memory=memory, caches=caches)
        return logits

    return greedy.search(step, torch.tensor(limits))


@torch.no_grad()
def recomputed(model: Transformer, source: list[int], limit: int) -> tuple[list[int], float]:
    """State search of one sentence that computes everything anew for each token."""
    target, score = [BOS_ID], 0.0
    while len(target) <= limit and target[-1] != EOS_ID:
        log_probs = model(torch.tensor([source]), torch.tensor([target]))[0, -1].log_softmax(-1)
        token = int(log_probs.argmax())
        score += log_probs[token].item()
        target.append(token)
    return target[1:], score


@networks
def test_agrees_with_a_search_that_recomputes_everything(
    tie: str, positions: object, seed: int
) -> None:
    model, sources = network(tie, positions, seed), some_sources(40)
    limits = [len(source) + 8 for source in sources]

    found = searched(model, sources, limits)

    for row, (source, limit) in enumerate(zip(sources, limits, strict=True)):
        target, score = recomputed(model, source, limit)
        length = len(target)
        assert found.target_ids[row, 0, :length].tolist() == target
        assert not found.target_ids[row, 0, length:].any()
        assert found.lengths[row, 0] == length
        assert found.ended[row, 0] == (target[-1] == EOS_ID)
        assert found.scores[row, 0].item() == pytest.approx(score, rel=1e-5)
    assert 0 < found.ended.sum() < 40
    assert len(set(found.lengths[found.ended].tolist())) > 2


@networks
def test_a_row_never_depends_on_its_batch(tie: str, positions: object, seed: int) -> None:
    model, sources = network(tie, positions, seed), some_sources(30)
    limits = [len(source) + 8 for source in sources]
    alone = [
        searched(model, [source], [limit]) for source, limit in zip(sources, limits, strict=True)
    ]

    order = torch.randperm(30, generator=torch.Generator().manual_seed(1)).tolist()
    for size in (3, 16, 30):
        for start in range(0, 30, size):
            rows = order[start : start + size]
            found = searched(model, [sources[i] for i in rows], [limits[i] for i in rows])
            for place, row in enumerate(rows):
                length = int(alone[row].lengths)
                assert found.lengths[place] == length
                ids = found.target_ids[place, :, :length]
                assert torch.equal(ids, alone[row].target_ids[0])
                torch.testing.assert_close(found.scores[place], alone[row].scores[0])


@networks
def test_an_untrained_network_never_writes_padding_or_bos(
    tie: str, positions: object, seed: int
) -> None:
    model, sources = network(tie, positions, seed), some_sources(100)

    found = searched(model, sources, [12] * 100)

    written = torch.arange(found.target_ids.shape[-1]) < found.lengths[..., None]
    assert (found.target_ids[written] > BOS_ID).all()
    assert (found.target_ids[~written] == PAD_ID).all()
