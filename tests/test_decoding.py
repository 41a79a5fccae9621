"""A network and a search together: rows that are left out, and references without a cache."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn

from builder.blueprint.model import Model
from builder.compile import compile_model
from builder.decoding import Decoding
from builder.nn.transformer import Transformer
from builder.search.constraints import Rules, barred
from builder.search.found import BOS_ID, EOS_ID, PAD_ID, Found
from builder.search.limits import LengthRule
from builder.search.options import Options
from builder.search.sampling import draw, source_keys
from builder.search.search import Search

Kind = Literal["greedy", "sampling", "beam"]
KINDS: list[Kind] = ["greedy", "sampling", "beam"]
VOCABULARY, PLUS, WIDTH = 9, 8, 4
"""`WIDTH` is the number of beams or samples."""

every_kind = pytest.mark.parametrize("kind", KINDS)
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


@pytest.fixture(scope="module")
def model() -> Transformer:
    return network("none", "sinusoidal", 17)


def some_sources(count: int) -> list[list[int]]:
    generator = torch.Generator().manual_seed(7)
    lengths = torch.randint(1, 9, (count,), generator=generator).tolist()
    drawn = [torch.randint(3, VOCABULARY, (length,), generator=generator) for length in lengths]
    return [[*ids.tolist(), EOS_ID] for ids in drawn]


def batch_of(sources: list[list[int]]) -> Tensor:
    longest = max(map(len, sources))
    return torch.tensor([ids + [PAD_ID] * (longest - len(ids)) for ids in sources])


def given(kind: Kind, **others: Any) -> Options:
    beams = {"min_length": 1, "length_penalty": 0.6} if kind == "beam" else {}
    there = {"max_length": 99, **beams, **others}
    return Options(**{name: torch.tensor(value) for name, value in there.items()})


def searched(
    model: Transformer,
    sources: list[list[int]],
    kind: Kind = "greedy",
    *,
    width: int = WIDTH,
    rules: Rules | None = None,
    **others: Any,
) -> Found:
    search = Search(kind, LengthRule.of(1.0, PLUS, None), rules or Rules())
    places = None if kind == "greedy" else torch.arange(width)
    return Decoding(model, search).generate(batch_of(sources), given(kind, **others), places)


def outputs(found: Found, row: int) -> list[tuple[list[int], float, bool]]:
    parts = (part[row].tolist() for part in found)
    return [
        (ids[:length], score, ended)
        for ids, score, length, ended in zip(*parts, strict=True)
        if length
    ]


LogProbs = Callable[[list[list[int]]], Tensor]


def log_probs_of(model: Transformer, source: list[int]) -> LogProbs:
    """The log-probabilities of the token after each of some texts, computed anew each time."""

    @torch.no_grad()
    def log_probs(texts: list[list[int]]) -> Tensor:
        target_ids = torch.tensor([[BOS_ID, *text] for text in texts])
        source_ids = torch.tensor([source]).expand(len(texts), -1)
        return model(source_ids, target_ids)[:, -1].log_softmax(-1)

    return log_probs


def forced(model: Transformer, source: list[int], ids: list[int]) -> Tensor:
    """The log-probabilities of all tokens at every step of an output."""
    with torch.no_grad():
        logits = model(torch.tensor([source]), torch.tensor([[BOS_ID, *ids[:-1]]]))
    return logits[0].log_softmax(-1)


def greedy(log_probs: LogProbs, limit: int) -> tuple[list[int], float]:
    written, score = list[int](), 0.0
    while len(written) < limit and written[-1:] != [EOS_ID]:
        (known,) = log_probs([written])
        written.append(int(known.argmax()))
        score += known.max().item()
    return written, score


@networks
def test_greedy_agrees_with_a_search_that_recomputes_everything(
    tie: str, positions: object, seed: int
) -> None:
    model, sources = network(tie, positions, seed), some_sources(20)

    found = searched(model, sources)

    for row, source in enumerate(sources):
        written, score = greedy(log_probs_of(model, source), len(source) + PLUS)
        ((ids, ours, ended),) = outputs(found, row)
        assert ids == written
        assert ended == (written[-1] == EOS_ID)
        assert ours == pytest.approx(score, rel=1e-5)
        assert not found.target_ids[row, 0, len(ids) :].any()
    assert 0 < found.ended.sum() < 20
    assert len(set(found.lengths[found.ended].tolist())) > 2


def beams_of(
    log_probs: LogProbs, limit: int, beams: int, penalty: float
) -> list[tuple[list[int], float, bool]]:
    """Beam search as DESIGN tells it, on plain lists."""
    live: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[tuple[list[int], float, bool]] = []
    for length in range(1, limit + 1):
        norm = ((5 + length) / 6) ** penalty
        known = log_probs([written for _, written in live]).tolist()
        grown = [
            (score + more, [*written, token])
            for (score, written), after in zip(live, known, strict=True)
            for token, more in enumerate(after)
            if more > -math.inf
        ]
        grown = sorted(grown, key=lambda one: -one[0])[: 2 * beams]
        finished += [(ids, score / norm, True) for score, ids in grown[:beams] if ids[-1] == EOS_ID]
        live = [one for one in grown if one[1][-1] != EOS_ID][:beams]
        if len(finished) >= beams:
            break
    else:
        finished += [(ids, score / norm, False) for score, ids in live]
    return sorted(finished, key=lambda one: -one[1])[:beams]


@networks
def test_beams_with_a_cache_are_those_without(tie: str, positions: object, seed: int) -> None:
    """Four beams on 20 sources, each position of each beam computed anew."""
    model, sources = network(tie, positions, seed), some_sources(20)

    found = searched(model, sources, "beam")

    for row, source in enumerate(sources):
        expected = beams_of(log_probs_of(model, source), len(source) + PLUS, WIDTH, 0.6)
        ours = outputs(found, row)
        assert [ids for ids, _, _ in ours] == [ids for ids, _, _ in expected]
        assert [one[2] for one in ours] == [one[2] for one in expected]
        assert [one[1] for one in ours] == pytest.approx([one[1] for one in expected], abs=1e-4)
    assert len(set(found.lengths.flatten().tolist())) > 3


@torch.no_grad()
def test_draws_are_those_of_a_search_that_recomputes_everything(model: Transformer) -> None:
    sources, rules = some_sources(5), Rules(no_repeat_ngram_size=2, suppress=(4,))
    options = given("sampling", temperature=1.5, top_p=0.95, seed=9)

    found = searched(model, sources, "sampling", rules=rules, temperature=1.5, top_p=0.95, seed=9)

    for row, source in enumerate(sources):
        keys = source_keys(torch.tensor([source]))
        for place, (ids, score, ended) in enumerate(outputs(found, row)):
            log_probs = forced(model, source, ids)
            for position, token in enumerate(ids):
                known = log_probs[position].float().expand(1, WIDTH, -1)
                written = torch.tensor(ids)[:position].expand(1, WIDTH, -1)
                closed = barred(rules, options, written, VOCABULARY)
                assert closed is not None
                allowed = known.masked_fill(closed, -math.inf)
                assert draw(allowed, keys, torch.tensor(position), options)[0, place] == token
            total = log_probs[range(len(ids)), ids].sum().item()
            assert score == pytest.approx(total, rel=1e-4)
            assert ended == (ids[-1] == EOS_ID)
            assert ended or len(ids) == len(source) + PLUS
        assert len({tuple(ids) for ids, _, _ in outputs(found, row)}) > 1


@every_kind
def test_a_row_never_depends_on_its_batch(kind: Kind, model: Transformer) -> None:
    """Its neighbours end before it and after it, so that the batch shrinks around it."""
    sources = some_sources(16)
    rules = Rules(no_repeat_ngram_size=3)
    alone = [outputs(searched(model, [source], kind, rules=rules), 0) for source in sources]
    order = torch.randperm(16, generator=torch.Generator().manual_seed(1)).tolist()

    for size in (3, 16):
        for start in range(0, 16, size):
            rows = order[start : start + size]
            found = searched(model, [sources[row] for row in rows], kind, rules=rules)
            for place, row in enumerate(rows):
                ours = outputs(found, place)
                assert [one[0] for one in ours] == [one[0] for one in alone[row]]
                assert [one[2] for one in ours] == [one[2] for one in alone[row]]
                assert [one[1] for one in ours] == pytest.approx(
                    [one[1] for one in alone[row]], rel=1e-5
                )


@networks
def test_one_beam_is_greedy(tie: str, positions: object, seed: int) -> None:
    model, sources = network(tie, positions, seed), some_sources(100)

    ours = searched(model, sources, "beam", width=1, length_penalty=0.0)

    expected = searched(model, sources)
    assert torch.equal(ours.target_ids, expected.target_ids)
    assert torch.equal(ours.lengths, expected.lengths)
    assert torch.equal(ours.ended, expected.ended)
    torch.testing.assert_close(ours.scores.float(), expected.scores, rtol=1e-5, atol=1e-5)


def test_the_n_best_differ_fall_and_have_the_scores_of_forced_outputs(model: Transformer) -> None:
    sources = some_sources(20)

    found = searched(model, sources, "beam", width=5, length_penalty=1.0)

    assert (found.scores.diff(dim=1) <= 0).all()
    for row, source in enumerate(sources):
        several = outputs(found, row)
        assert len({tuple(ids) for ids, _, _ in several}) == 5
        for ids, score, _ in several:
            total = forced(model, source, ids)[range(len(ids)), ids].sum().item()
            assert score == pytest.approx(total / ((5 + len(ids)) / 6), rel=1e-5)


@every_kind
def test_what_never_ends_is_cut_off_at_the_limit(kind: Kind) -> None:
    model, sources = network("none", "rotary", 4), some_sources(6)
    model.output_bias[EOS_ID] = -math.inf

    found = searched(model, sources, kind)

    limits = torch.tensor([len(source) + PLUS for source in sources])
    assert torch.equal(found.lengths, limits[:, None].expand_as(found.lengths))
    assert not found.ended.any()


@every_kind
def test_an_untrained_network_never_writes_padding_or_bos(kind: Kind, model: Transformer) -> None:
    sources = some_sources(100)

    found = searched(model, sources, kind, rules=Rules(suppress=(3,)), max_length=12)

    written = torch.arange(found.target_ids.shape[-1]) < found.lengths[..., None]
    assert (found.target_ids[written] > BOS_ID).all()
    assert (found.target_ids[written] != 3).all()
    assert (found.target_ids[~written] == PAD_ID).all()


class Watched(nn.Module):
    """A network that notes how many rows each of its steps has."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model
        self.rows: list[int] = []

    def remember(self, source_ids: Tensor) -> Any:
        return self.model.remember(source_ids)

    def empty_caches(self, source_ids: Tensor) -> Any:
        return self.model.empty_caches(source_ids)

    def step(self, last: Tensor, position: Tensor, **others: Any) -> Any:
        self.rows.append(len(last))
        return self.model.step(last, position, **others)


@every_kind
def test_rows_that_have_ended_are_soon_left_out(kind: Kind) -> None:
    """Never more than half of what a step computes has ended, and no step follows the last."""
    plain = network("none", "rotary", 4)
    plain.output_bias[EOS_ID] = -math.inf
    watched = Watched(plain)
    sources = [[3] * length + [EOS_ID] for length in (1, 2, 3, 4, 5, 6, 7, 8, 30, 40)]
    search = Search(kind, LengthRule.of(1.0, 0, None), Rules())
    places = None if kind == "greedy" else torch.arange(WIDTH)

    decoding = Decoding(watched, search)  # type: ignore[arg-type]
    found = decoding.generate(batch_of(sources), given(kind), places)

    lengths = found.lengths[:, 0].tolist()
    assert lengths == [len(source) for source in sources]
    assert len(watched.rows) == 41
    for step, rows in enumerate(watched.rows):
        assert sum(length > step for length in lengths) <= rows
        assert rows <= 2 * sum(length > step for length in lengths)
    assert watched.rows[0] == 10
    assert watched.rows[-1] == 1


def test_rows_that_may_write_nothing_more_end_at_once(model: Transformer) -> None:
    found = searched(model, some_sources(3), "beam", max_length=1)

    assert found.target_ids.shape == (3, WIDTH, 1)
    assert (found.lengths == 1).all()
