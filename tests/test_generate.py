from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from builder import generate
from builder.blueprint.generation import Beam, Greedy
from builder.blueprint.model import Model
from builder.compile import compile_model
from builder.errors import DataError
from builder.generate import Generator, generate_lines, pad
from builder.nn.transformer import Transformer
from builder.text.learn import learn_tokenizer
from builder.text.output import Output, Scored
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
    found = Generator.of(model, tokenizers, SHORT).ids(torch.tensor(source.encode([line])))
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
    asked = generate_lines(
        model, tokenizers, ["a", "abcd", "ab"], strategy=SHORT, asked={"max_length": 7}
    )

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


def test_generating_twice_gives_the_same_and_no_gradients(tokenizers: Tokenizers) -> None:
    model = network(tokenizers)

    generator = Generator.of(model, tokenizers, SHORT)

    found = generator.ids(torch.tensor([[4, 5, 2]]))

    assert not found.scores.requires_grad
    again = generator.ids(torch.tensor([[4, 5, 2]]))
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


BEAMS = Beam.model_validate(
    {"kind": "beam", "beams": 3, "n_best": 3, "length_penalty": 0, "max_length": {"plus": 4}}
)


def test_outputs_begin_as_told(tokenizers: Tokenizers) -> None:
    for strategy in (SHORT, BEAMS):
        generator = Generator.of(network(tokenizers), tokenizers, strategy)
        lines = ["abc", "", "cab dab", "bad"]

        for rows in generator.lines(lines, prefix="31")[::2]:
            assert all(one.text.startswith("31") for one in rows)
        first, empty, second, third = generator.lines(lines, prefix=["3 1", "9", "", "77777"])
        assert all(one.text.startswith("3 1") for one in first)
        assert all(one.text.startswith("77777") for one in third)
        assert empty == [EMPTY]
        free = generator.lines(lines)
        assert [one.text for one in second] == [one.text for one in free[2]]


def test_a_beginning_longer_than_its_output_is_refused(tokenizers: Tokenizers) -> None:
    generator = Generator.of(network(tokenizers), tokenizers, SHORT)

    assert len(generator.lines(["a", ""], prefix="12345")) == 2  # the limit is 2 + 4 tokens
    with pytest.raises(DataError, match=r"line 9: .*\b6\b.*\b6\b"):
        generator.lines(["abc", "a"], prefix="123456", first_line=8)
    with pytest.raises(DataError, match=r"line 1: .*\b3\b.*\b3\b"):
        generator.lines(["abc"], prefix="123", asked={"max_length": 3})
    with pytest.raises(DataError, match="'z'"):
        generator.lines(["abc"], prefix="1z")


def test_beams_have_the_scores_of_forced_targets(tokenizers: Tokenizers) -> None:
    target, model = tokenizers[1], network(tokenizers)
    with torch.no_grad():
        model.output_bias[2] = 2.0  # ends come early
    strategy = BEAMS.model_copy(update={"suppress_unknown": True})
    generator = Generator.of(model, tokenizers, strategy)
    compared = 0
    for line in WORDS:
        (row,) = generator.lines([line])
        assert len({one.text for one in row}) == len(row)
        assert [one.score for one in row] == sorted((one.score for one in row), reverse=True)
        again = [
            one  # its text stands for its tokens and no others
            for one in row
            if one.ended and len(target.encode([one.text])[0]) == one.length
        ]
        scored = generator.score([(line, one.text) for one in again])
        assert [one.log_prob for one in scored] == pytest.approx([one.score for one in again])
        compared += len(again)
    assert compared > 3


def test_scores_are_sums_of_log_probabilities(tokenizers: Tokenizers) -> None:
    source, target = tokenizers
    model = network(tokenizers)
    pairs = [("abc", "31"), ("", ""), ("cab dab", "12345678 9"), ("a", ""), ("bad", "§")]
    generator = Generator.of(model, tokenizers, SHORT)

    ours = generator.score(pairs)

    for (line, text), one in zip(pairs, ours, strict=True):
        if not line:
            assert one == Scored(0.0, 0)
            continue
        ids = target.encode([text])[0]
        before = torch.tensor([[1, *ids[:-1]]])
        with torch.no_grad():
            logits = model(torch.tensor(source.encode([line])), before)[0]
        expected = sum(float(row.log_softmax(-1)[i]) for row, i in zip(logits, ids, strict=True))
        assert one.log_prob == pytest.approx(expected, rel=1e-9)
        assert one.length == len(ids)
    with pytest.raises(DataError, match="line 4: "):
        generator.score([("a", "1"), ("", "1")], first_line=3)


def test_targets_beyond_the_positions_are_refused(tokenizers: Tokenizers) -> None:
    generator = Generator.of(network(tokenizers, decoder=LEARNED), tokenizers, SHORT)

    assert generator.score([("a", "12345")])[0].length == 6
    with pytest.raises(DataError, match=r"line 2: 7 tokens.* 6 positions"):
        generator.score([("a", "1"), ("a", "123456")])


@pytest.mark.parametrize("token", ["z", "12"])
def test_what_cannot_be_suppressed_names_its_key(tokenizers: Tokenizers, token: str) -> None:
    strategy = SHORT.model_copy(update={"suppress_tokens": ["1", token]})

    with pytest.raises(DataError, match=rf"^generation\.suppress_tokens: '{token}'"):
        Generator.of(network(tokenizers), tokenizers, strategy)
