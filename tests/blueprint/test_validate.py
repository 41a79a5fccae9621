"""Each wrong value is one problem at its place; a right one has the declared type."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.errors import Problem

Parse = Callable[..., Blueprint]
Refuse = Callable[..., list[Problem]]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model: {embeddings: {scale: %s}}", "2"),
        ("model: {embeddings: {scale: %s}}", "1"),
        ("model: {embeddings: {scale: %s}}", '"maybe"'),
        ("model: {embeddings: {scale: %s}}", "yes"),
        ("model: {embeddings: {scale: %s}}", "on"),
        ("model: {layers: %s}", "6.5"),
        ("model: {layers: %s}", '"6"'),
        ("model: {layers: %s}", "true"),
        ("model: {layers: %s}", "[6]"),
        ("model: {layers: %s}", "{a: 6}"),
        ("model: {layers: %s}", '__import__("os")'),
        ("model: {layers: %s}", "1_000"),
        ("model: {dropout: %s}", "true"),
        ("model: {dropout: %s}", '"0.1"'),
        ("model: {dropout: %s}", "1.0"),
        ("model: {dropout: %s}", "1"),
        ("model: {dropout: %s}", "-0.1"),
        ("model: {dropout: %s}", ".nan"),
        ("model: {feed_forward: {activation: %s}}", "os.system"),
        ("model: {positions: %s}", "rotary_"),
        ("model: {positions: %s}", "5"),
        ("model: {positions: %s}", "{kind: 5}"),
        ("model: {encoder: {mask: %s}}", "prefix"),
        ("model: {d_model: %s}", "-512"),
        ("model: {d_model: %s}", "0"),
        ("model: {d_model: %s}", "1e12"),
        ("model: {d_model: %s}", "1000000000000"),
        ("model: {vocab_size: %s}", "0"),
        ("model: {vocab_size: %s}", "1000000000000000"),
        ("model: {layers: %s}", "1000000000"),
        ("model: {attention: {heads: %s}}", "0"),
        ("model: {feed_forward: {d_ff: %s}}", "0"),
        ("model: {feed_forward: {d_ff: %s}}", "9" * 5000),
        ("model: {norm: {eps: %s}}", "0"),
        ("training: {steps: 1, label_smoothing: %s}", ".nan"),
        ("training: {steps: 1, label_smoothing: %s}", "1.0"),
        ("training: {steps: 1, label_smoothing: %s}", "1.5"),
        ("training: {steps: 1, clip: %s}", ".nan"),
        ("training: {steps: 1, clip: %s}", "None"),
        ("training: {steps: 1, clip: %s}", "0"),
        ("training: {steps: %s}", "1e999"),
        ("training: {steps: 1, optimizer: %s}", "builtins.eval"),
        ("training: {steps: 1, optimizer: %s}", "\"{'kind': 'adam'}\""),
        ("training: {steps: 1, optimizer: {betas: %s}}", "0.9"),
        ("training: {steps: 1, optimizer: {betas: %s}}", "[0.9]"),
        ("training: {steps: 1, optimizer: {betas: %s}}", "[0.9, 0.9, 0.9]"),
        ("training: {steps: 1, validate: {metric: %s}}", "wer"),
        ("training: {steps: 1, threads: %s}", "automatic"),
        ("training: {steps: 1, threads: %s}", "0"),
        ("training: {steps: 1, schedule: {kind: constant, learning_rate: %s}}", ".inf"),
        ("tokenizer: %s", "unigram"),
        ("tokenizer: %s", "5"),
        ("data: {builtin: %s}", "datess"),
        ("data: {train: %s, valid: {builtin: dates}}", "5"),
        (
            "data: {train: {path: a, columns: {source: %s, target: 2}}, valid: {builtin: dates}}",
            "0",
        ),
        ("data: {builtin: dates, max_length: %s}", "long"),
        ("generation: %s", "beams"),
        ("generation: {beams: %s}", "4"),
        ("generation: {kind: beam, beams: %s}", "0"),
        ("generation: {kind: beam, n_best: %s}", "0"),
        ("generation: {kind: beam, length_penalty: %s}", "-0.1"),
        ("generation: {kind: beam, length_penalty: %s}", ".inf"),
        ("generation: {kind: beam, length_penalty: %s}", "11"),
        ("generation: {kind: beam, temperature: %s}", "1"),
        ("generation: {kind: sampling, temperature: %s}", "0"),
        ("generation: {kind: sampling, temperature: %s}", "1e-9"),
        ("generation: {kind: sampling, temperature: %s}", ".nan"),
        ("generation: {kind: sampling, top_k: %s}", "0"),
        ("generation: {kind: sampling, top_k: %s}", "-1"),
        ("generation: {kind: sampling, top_p: %s}", "0"),
        ("generation: {kind: sampling, top_p: %s}", "1.01"),
        ("generation: {kind: sampling, seed: %s}", "2147483648"),
        ("generation: {kind: sampling, seed: %s}", "-1"),
        ("generation: {min_length: %s}", "0"),
        ("generation: {no_repeat_ngram_size: %s}", "0"),
        ("generation: {suppress_tokens: %s}", "unk"),
        ("generation: {suppress_tokens: %s}", "{a: 1}"),
        ("generation: {suppress_unknown: %s}", "1"),
        ("generation: {target_prefix: %s}", "yes"),
        ("export: {opset: %s}", "18"),
        ("export: {precision: %s}", "float8"),
        ("export: {precision: %s}", "16"),
        ("export: {precision: {kind: float32, max_drop: %s}}", "1"),
        ("export: {precision: {kind: float16, max_drop: %s}}", "-1"),
        ("export: {precision: {kind: int8, weights: %s}}", "int8"),
        ("export: {options: %s}", "both"),
        ("export: {proof: %s}", "true"),
        ("export: {proof: {embed: %s}}", "1"),
        ("name: %s", "5"),
        ("name: %s", "true"),
        ("name: %s", '""'),
        ("name: %s", "x" * 300),
        ("name: %s", "../../x"),
        ("name: %s", "/tmp/x"),
        ("name: %s", "a/b"),
        ("name: %s", "a\\b"),
        ("name: %s", ".."),
        ("name: %s", ".hidden"),
        ("name: %s", '"con\\0"'),
        ("name: %s", '"a\\e[31m"'),
        ("name: %s", '" a"'),
        ("name: %s", '"a\\u2028b"'),
        ("name: %s", '"a\\u202eb"'),
        ("name: %s", '"a\\u2066b"'),
        ("name: %s", '"a\\u200bb"'),
        ("name: %s", '"a\\ufeffb"'),
        ("name: %s", '"a\\xadb"'),
        ("name: %s", "\U0001f600" * 60),
        ("extends: %s", "5"),
        ("extends: %s", "[dates]"),
        ("extends: %s", '""'),
        ("model: {positions: %s}", "{max_length: 1, kind: learned}"),
        ("model: {encoder: {mask: %s}}", "{before: -1, kind: window}"),
        ("data: {builtin: dates, max_length: %s}", "1"),
        ("transom: %s", "0"),
        ("transom: %s", "-1"),
        ("transom: %s", "1.5"),
        ("transom: %s", ".nan"),
        ("transom: %s", ".inf"),
        ("transom: %s", "[1]"),
        ("transom: %s", "2"),
        ("transom: %s", "true"),
        ("transom: %s", '"1"'),
    ],
)
def test_a_value_that_is_not_allowed_is_one_problem_at_its_key(
    refuse: Refuse, key: str, value: str
) -> None:
    [problem] = refuse(key % value)

    assert problem.line == 1
    written = re.split("[{ ]", key.partition(": %s")[0])[-1]
    assert problem.source_line[problem.column - 1 :].startswith((written, "kind", value[1:4]))
    assert problem.message.isprintable()
    assert len(problem.message) < 400


@pytest.mark.parametrize(
    ("key", "value", "path", "expected"),
    [
        ("model: {layers: %s}", "6.0", "model.encoder.layers", 6),
        ("model: {layers: %s}", "4e0", "model.decoder.layers", 4),
        ("model: {dropout: %s}", "0", "model.encoder.dropout.residual", 0.0),
        ("training: {steps: 1, optimizer: {eps: %s}}", "1e-4", "training.optimizer.eps", 0.0001),
        ("training: {steps: %s}", "4e3", "training.steps", 4000),
        ("model: {attention: {d_k: %s}}", "016", "model.encoder.attention.d_k", 16),
        ("name: %s", "no", "name", "no"),
        ("name: %s", "été 日本 \U0001f600", "name", "été 日本 \U0001f600"),
        (
            "name: %s",
            "\U0001f468\u200d\U0001f373 ❤\ufe0f",
            "name",
            "\U0001f468\u200d\U0001f373 ❤\ufe0f",
        ),
        ("name: %s", "می\u200cشود", "name", "می\u200cشود"),
        ("description: %s", '"1e-4"', "description", "1e-4"),
        ("description: %s", "costs $5", "description", "costs $5"),
        ("export: {opset: %s}", "20.0", "export.opset", 20),
        ("export: {precision: %s}", "float16", "export.precision.max_drop", 1.0),
        ("export: {precision: {kind: int8, max_drop: %s}}", "0", "export.precision.max_drop", 0.0),
        ("generation: %s", "beam", "generation.beams", 4),
        ("generation: {kind: beam, beams: %s}", "8.0", "generation.beams", 8),
        ("generation: {kind: sampling, top_p: %s}", "1", "generation.top_p", 1.0),
        ("generation: {suppress_tokens: %s}", "[a, no]", "generation.suppress_tokens", ["a", "no"]),
    ],
)
def test_a_value_has_the_declared_type(
    parse: Parse, key: str, value: str, path: str, expected: object
) -> None:
    found: object = parse(key % value)
    for name in path.split("."):
        found = getattr(found, name)

    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("text", "line", "path"),
    [
        ("model:\ntransom: 1\n", 1, "model"),
        ("model: {}\ntransom: ~\n", 2, "transom"),
        ("model: {positions: {kind: learned}}", 1, "model.positions.max_length"),
        ("model: {encoder: {mask: window}}", 1, "model.encoder.mask.before"),
        ("tokenizer: {source: char}", 1, "tokenizer.target"),
        ("tokenizer: {lowercase: true}", 1, "tokenizer"),
        ("tokenizer: {}", 1, "tokenizer.source"),
        ("tokenizer: bpe", 1, "tokenizer.vocab_size"),
        ("data:\n  train: {builtin: dates}\n", 1, "data.valid"),
        ("data:\n  builtin: dates\n  test: {path: }\n", 3, "data.test.source"),
        ("training: {steps: 1, schedule: constant}", 1, "training.schedule.learning_rate"),
        ("model: {vocab_size: {source: 5}}", 1, "model.vocab_size.target"),
    ],
)
def test_what_is_missing_is_told_at_its_section(
    refuse: Refuse, text: str, line: int, path: str
) -> None:
    problem = refuse(text)[0]
    assert (problem.line, problem.path) == (line, path)


def test_sizes_of_nothing_are_all_told_with_their_range(refuse: Refuse) -> None:
    problems = refuse(
        "model:\n  layers: 0\n  attention: {heads: 0}\n  feed_forward: {d_ff: 0}\n"
        "  d_model: -512\n  vocab_size: 0\n"
    )
    assert [problem.line for problem in problems] == [2, 3, 4, 5, 6]
    assert all("a whole number from" in problem.message for problem in problems)


@pytest.mark.parametrize(
    ("text", "line", "column", "path"),
    [
        ("data:\n\n  # the set\n  builtin:dates\n", 4, 3, "data.builtin"),
        ("model:\n  positions:\n    kind:rotary\n", 3, 5, "model.positions.kind"),
        ("model: layers:6", 1, 8, "model.layers"),
        ("generation:\n  max_length:\n    plus:3\n", 3, 5, "generation.max_length.plus"),
    ],
)
def test_an_only_key_without_a_space_is_told_at_its_own_line(
    refuse: Refuse, text: str, line: int, column: int, path: str
) -> None:
    [problem] = refuse(text)
    assert (problem.line, problem.column, problem.path) == (line, column, path)
    assert "space is missing after the colon" in problem.message


def test_a_text_that_is_no_key_of_the_section_is_a_wrong_value(refuse: Refuse) -> None:
    for text in ("model: {positions: rotary:x}", "training: {steps: 'steps:5'}"):
        [problem] = refuse(text)
        assert "found the text" in problem.message


def test_a_misspelled_required_key_is_one_problem(refuse: Refuse) -> None:
    for word in ("sorce", "src"):
        text = f"data: {{train: {{{word}: a, target: b}}, valid: {{builtin: dates}}}}"
        [problem] = refuse(text)
        assert problem.path == f"data.train.{word}"


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("training:\n", ""),
        ("data:\n", ""),
        ("name: ~", ""),
        ("model: {dropout: }", ""),
        ("model: {encoder: {layers: null}}", ""),
        ("model: {attention: {d_k: ~}}", ""),
        ("model: {encoder: }", ""),
        ("model: {layers: 2, encoder: {layers: }}", "model: {layers: 2}"),
        ("training: {steps: 1, clip: null}", "training: {steps: 1}"),
    ],
)
def test_a_blank_value_is_as_if_the_key_were_not_written(
    parse: Parse, text: str, without: str
) -> None:
    assert parse(text) == parse(without)


def test_a_typo_is_told_even_where_its_value_is_blank(refuse: Refuse) -> None:
    problems = refuse("model: {droput: , encoder: {mask: {befor: }}}\ntraning:\n")
    assert [p.path for p in problems] == ["model.droput", "model.encoder.mask.befor", "traning"]
