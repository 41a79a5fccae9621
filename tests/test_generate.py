from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from builder import generate
from builder.blueprint.generation import Greedy
from builder.blueprint.model import Model
from builder.compile import compile_model
from builder.errors import DataError
from builder.generate import generate_ids, generate_lines, length_rule, pad
from builder.nn.transformer import Transformer
from builder.text.learn import learn_tokenizer
from builder.text.output import Output
from builder.text.tokenizer import TextTokenizer

EMPTY = Output("", 0.0, 0, ended=True)
WORDS = ["abc", "cab dab", "bad", "a", "dabba cab", "b", "cccc", "abcd dcba abcd"]
SHORT = Greedy.model_validate({"kind": "greedy", "max_length": {"ratio": 1.0, "plus": 4}})


@pytest.fixture
def tokenizers() -> tuple[TextTokenizer, TextTokenizer]:
    source = learn_tokenizer("char", WORDS, vocab_size=None, lowercase=False)
    target = learn_tokenizer("char", ["0123456789 \u2028x"], vocab_size=None, lowercase=False)
    return source, target


def network(tokenizers: tuple[TextTokenizer, TextTokenizer], **sections: Any) -> Transformer:
    torch.manual_seed(3)
    stack = {"layers": 1, "attention": {"heads": 2}, "feed_forward": {"d_ff": 16}}
    source, target = (tokenizer.vocab_size for tokenizer in tokenizers)
    section = {
        "d_model": 16,
        "vocab_size": {"source": source, "target": target},
        "embeddings": {"tie": "none"},
        "encoder": {**stack, **sections.get("encoder", {})},
        "decoder": {**stack, "cross_attention": {"heads": 2}, **sections.get("decoder", {})},
    }
    model = compile_model(Model.model_validate(section)).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.5)
    return model


Tokenizers = tuple[TextTokenizer, TextTokenizer]


def by_itself(model: Transformer, tokenizers: Tokenizers, line: str) -> Output:
    source, target = tokenizers
    found = generate_ids(model, torch.tensor(source.encode([line])), strategy=SHORT)
    ids = found.target_ids[0, 0].tolist()
    return Output(
        target.decode([ids])[0],
        found.scores.item(),
        int(found.lengths),
        bool(found.ended),
    )


@pytest.mark.parametrize("batch_tokens", [1, 20, 4096])
def test_order_is_kept_whatever_the_batches(
    tokenizers: Tokenizers, monkeypatch: pytest.MonkeyPatch, batch_tokens: int
) -> None:
    monkeypatch.setattr(generate, "BATCH_TOKENS", batch_tokens)
    model = network(tokenizers)
    lines = [*WORDS, "", *reversed(WORDS), "xyz unknown", "  ", "d" * 30]

    ours = generate_lines(model, tokenizers, lines, strategy=SHORT)

    assert len(ours) == len(lines)
    for line, generation in zip(lines, ours, strict=True):
        expected = by_itself(model, tokenizers, line) if line.strip() else EMPTY
        assert (generation.text, generation.length, generation.ended) == (
            expected.text,
            expected.length,
            expected.ended,
        )
        assert generation.score == pytest.approx(expected.score, rel=1e-5)
    assert {generation.ended for generation in ours} == {True, False}
    assert len({generation.text for generation in ours}) > 5


def test_an_empty_line_stays_an_empty_line(tokenizers: Tokenizers) -> None:
    model = network(tokenizers)

    ours = generate_lines(model, tokenizers, ["a", "b", "", "c", "d"], strategy=SHORT)

    assert len(ours) == 5
    assert ours[2] == EMPTY
    assert all(generation.length > 0 for place, generation in enumerate(ours) if place != 2)
    assert generate_lines(model, tokenizers, ["", " \t"], strategy=SHORT) == [EMPTY] * 2
    assert generate_lines(model, tokenizers, [], strategy=SHORT) == []


def test_a_text_is_never_more_than_one_line(tokenizers: Tokenizers) -> None:
    model = network(tokenizers)
    with torch.no_grad():
        model.output[model.output.shape[0] // 2 :] *= 3

    ours = generate_lines(model, tokenizers, WORDS * 4, strategy=SHORT)

    assert all(len(generation.text.splitlines()) <= 1 for generation in ours)


def test_limits_count_the_end_and_cut_each_row_on_its_own(tokenizers: Tokenizers) -> None:
    model = network(tokenizers)
    with torch.no_grad():
        model.output_bias[2] = -1e4  # an end is never written

    ours = generate_lines(model, tokenizers, ["a", "abcd", "ab"], strategy=SHORT)
    asked = generate_lines(model, tokenizers, ["a", "abcd", "ab"], strategy=SHORT, max_length=7)

    assert [generation.length for generation in ours] == [2 + 4, 5 + 4, 3 + 4]
    assert [generation.length for generation in asked] == [6, 7, 7]
    assert not any(generation.ended for generation in [*ours, *asked])


LEARNED = {"positions": {"kind": "learned", "max_length": 6}}


def test_the_longest_source_fits_and_one_more_token_names_its_line(tokenizers: Tokenizers) -> None:
    model = network(tokenizers, encoder=LEARNED)

    fits = ["a", "abcda", ""]  # with its end, 6 tokens
    assert len(generate_lines(model, tokenizers, fits, strategy=SHORT)) == 3

    for first_line, number in ((1, 4), (11, 14)):
        with pytest.raises(DataError, match=rf"^line {number}: .*\b7\b.*\b6\b"):
            generate_lines(
                model, tokenizers, [*fits, "abcdab"], strategy=SHORT, first_line=first_line
            )
    with pytest.raises(DataError, match=r"^pair 1: "):
        generate_lines(model, tokenizers, ["abcdab"], strategy=SHORT, noun="pair")


def test_the_target_s_positions_are_a_limit(tokenizers: Tokenizers) -> None:
    model = network(tokenizers, decoder=LEARNED)
    with torch.no_grad():
        model.output_bias[2] = -1e4

    ours = generate_lines(model, tokenizers, ["a", "abcdabcd"], strategy=SHORT)

    assert [generation.length for generation in ours] == [6, 6]
    assert length_rule(SHORT, model).ceiling == 6


def test_generating_twice_gives_the_same_and_no_gradients(tokenizers: Tokenizers) -> None:
    model = network(tokenizers)

    found = generate_ids(model, torch.tensor([[4, 5, 2]]), strategy=SHORT)

    assert not found.scores.requires_grad
    again = generate_ids(model, torch.tensor([[4, 5, 2]]), strategy=SHORT)
    assert all(torch.equal(a, b) for a, b in zip(found, again, strict=True))


class Scalars(TorchDispatchMode):
    """Counts how often one number is taken out of a tensor, which waits for a device."""

    taken = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None):  # type: ignore[no-untyped-def]
        self.taken += function is torch.ops.aten._local_scalar_dense.default
        return function(*args, **(kwargs or {}))


def test_outputs_leave_their_device_together(tokenizers: Tokenizers) -> None:
    model = network(tokenizers)
    taken = []
    for copies in (1, 40):
        with Scalars() as scalars:
            generate_lines(model, tokenizers, ["abc"] * copies, strategy=SHORT)
        taken.append(scalars.taken)

    assert taken[0] == taken[1]  # one for each step of the search


def test_sequences_are_padded_on_the_right() -> None:
    assert pad([[5, 2], [6, 7, 8, 2], [2]]).tolist() == [[5, 2, 0, 0], [6, 7, 8, 2], [2, 0, 0, 0]]
