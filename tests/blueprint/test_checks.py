"""Values that are right alone and wrong together are told at the later of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.errors import Problem

Parse = Callable[..., Blueprint]
Refuse = Callable[..., list[Problem]]

DATES = "data: {builtin: dates, max_length: 64}\n"


@pytest.mark.parametrize(
    ("text", "line", "path", "words"),
    [
        ("model:\n  attention: {heads: 7}\n", 2, "model.attention.heads", ["512", "7", "4, 8"]),
        (
            "model:\n  d_model: 1600\n  attention: {heads: 48}\n",
            3,
            "model.attention.heads",
            ["1600", "48", "40, 50"],
        ),
        (
            "model:\n  attention: {heads: 7}\n  d_model: 8\n",
            3,
            "model.d_model",
            ["8", "7", "4, 8", "7, 14"],
        ),
        (
            "model:\n  decoder:\n    cross_attention: {heads: 3}\n",
            3,
            "model.decoder.cross_attention.heads",
            ["2, 4"],
        ),
        ("model: {attention: {heads: 7, d_v: 8}}", 1, "model.attention.heads", ["7"]),
        (
            "model:\n  d_model: 520\n  positions: rotary\n",
            3,
            "model.positions",
            ["520", "heads=8", "d_k=65", "5, 10", "512, 528"],
        ),
        (
            "model:\n  positions: rotary\n  attention: {d_k: 5}\n",
            3,
            "model.attention.d_k",
            ["d_k=5", "4, 6"],
        ),
        (
            "model:\n  positions: rotary\n  d_model: 3\n  attention: {heads: 3}\n",
            4,
            "model.attention.heads",
            ["d_k=1"],
        ),
        (
            "model: {vocab_size: {source: 24999, target: 35820}}",
            1,
            "model.vocab_size.target",
            ["24,999", "35,820", "tie"],
        ),
        (
            "model:\n  vocab_size: {source: 9, target: 8}\n  embeddings: {tie: source_output}\n",
            3,
            "model.embeddings.tie",
            ["source_output"],
        ),
        ("tokenizer: {source: char, target: word}", 1, "tokenizer.target", ["tie"]),
        (
            "tokenizer: {shared: true, source: char, target: word}",
            1,
            "tokenizer.target",
            ["shared", "char", "word"],
        ),
        (
            "tokenizer: char\nmodel: {vocab_size: {source: 9, target: 8}, embeddings: {tie: none}}",
            2,
            "model.vocab_size.target",
            ["9", "8"],
        ),
        (
            "model: {vocab_size: 100}\ntokenizer: {kind: bpe, vocab_size: 99}\n",
            2,
            "tokenizer.vocab_size",
            ["100", "99"],
        ),
        (
            "model: {decoder: {mask: {kind: window, before: 4, after: 2}}}",
            1,
            "model.decoder.mask.after",
            ["label"],
        ),
        (
            f"{DATES}model: {{positions: {{kind: learned, max_length: 63}}}}\n",
            2,
            "model.positions.max_length",
            ["63", "64"],
        ),
        ("training: {}", 1, "training.steps", ["steps", "minutes"]),
        ("\ntraining:\n  batch_tokens: 9\n", 2, "training.steps", ["steps"]),
        (f"{DATES}training: {{steps: 1, batch_tokens: 63}}\n", 2, "training.batch_tokens", ["64"]),
        (
            (
                "data: {builtin: dates, max_length: {source: 64, target: 16}}\n"
                "training: {steps: 1, batch_tokens: 20, microbatch_tokens: 63}\n"
            ),
            2,
            "training.microbatch_tokens",
            ["63", "64", "source"],
        ),
        (
            (
                "training: {steps: 1, microbatch_tokens: 63}\n"
                "data: {builtin: dates, max_length: {source: 16, target: 64}}\n"
            ),
            2,
            "data.max_length.target",
            ["63", "64", "target"],
        ),
        (
            (
                "generation:\n  max_length: {ratio: 0, plus: 65}\n"
                "model: {positions: {kind: learned, max_length: 64}}\n"
            ),
            3,
            "model.positions.max_length",
            ["65", "64"],
        ),
        (
            "training: {steps: 1, checkpoint: {keep: 2, average: 3}}",
            1,
            "training.checkpoint.average",
            ["2", "3"],
        ),
        (
            "generation: {max_length: {ratio: 0, plus: 0}}",
            1,
            "generation.max_length.plus",
            ["0", "2"],
        ),
        (
            "generation:\n  kind: beam\n  beams: 5\n  n_best: 10\n",
            4,
            "generation.n_best",
            ["n_best=10", "beams=5"],
        ),
        ("generation: {kind: beam, n_best: 5}", 1, "generation.n_best", ["5", "beams=4"]),
        (
            "generation: {min_length: 10, max_length: {ratio: 0, plus: 9}}",
            1,
            "generation.max_length.plus",
            ["10", "9"],
        ),
        (
            (
                "model: {decoder: {positions: {kind: learned, max_length: 9}}}\n"
                "generation: {min_length: 10}\n"
            ),
            2,
            "generation.min_length",
            ["10", "9"],
        ),
        (
            "tokenizer: char\ngeneration: {suppress_tokens: [é, éa, b]}\n",
            2,
            "generation.suppress_tokens[1]",
            ["éa", "2"],
        ),
        ("generation: {max_length: {plus: 1, ratio: 4e-7}}", 1, "generation.max_length.ratio", []),
        (
            "data:\n  builtin: dates\n  train: {path: a}\n  valid: {path: b}\n  test: {path: c}\n",
            5,
            "data.test",
            ["dates", "train, valid, test"],
        ),
        (
            "data: {valid: {builtin: dates}, train: {path: a, columns: {source: word, target: 2}}}",
            1,
            "data.train.columns.target",
            ["number, 2", "name, `word`"],
        ),
        (
            'data: {valid: {builtin: dates}, train: {path: "a\\0b"}}',
            1,
            "data.train.path",
            [],
        ),
        ("model: {d_model: 65536, layers: 1000}", 1, "model.layers", ["100,000,000,000"]),
    ],
)
def test_a_conflict_is_told_at_the_later_field(
    refuse: Refuse, text: str, line: int, path: str, words: list[str]
) -> None:
    [problem] = refuse(text)

    assert (problem.line, problem.path) == (line, path)
    assert all(word in problem.message for word in words)


@pytest.mark.parametrize(
    "text",
    [
        "model: {d_model: 65, attention: {heads: 5}}",
        "model: {d_model: 1, attention: {heads: 1}}",
        "model: {attention: {heads: 7, d_k: 10}}",
        "model: {attention: {heads: 7, d_k: 10, d_v: 3}}",
        "model: {d_model: 520, positions: rotary, attention: {d_k: 64}}",
        "model: {embeddings: {tie: target_output}, vocab_size: {source: 9, target: 8}}",
        "model: {embeddings: {tie: none}}\ntokenizer: {source: char, target: word}",
        "model: {encoder: {mask: {kind: window, before: 0, after: 0}}}",
        "model: {decoder: {mask: {kind: window, before: 100000}}}",
        "model: {decoder: {mask: full}}",
        f"{DATES}model: {{positions: {{kind: learned, max_length: 64}}}}\n",
        "training: {minutes: 0.5}",
        "training: {steps: 1, batch_tokens: 100, microbatch_tokens: 200}",
        (
            "data: {builtin: dates, max_length: {source: 64, target: 16}}\n"
            "training: {steps: 1, batch_tokens: 20, microbatch_tokens: 64}\n"
        ),
        (
            "model: {positions: {kind: learned, max_length: 64}}\n"
            "generation: {max_length: {ratio: 0, plus: 64}}\n"
        ),
        "model: {positions: {kind: learned, max_length: 2}}\n",
        "generation: {max_length: {ratio: 0, plus: 2}}",
        "generation: {min_length: 9, max_length: {ratio: 0, plus: 9}}",
        "generation: {min_length: 60, max_length: {ratio: 0.1, plus: 50}}",
        "generation: {kind: beam, beams: 1, n_best: 1}",
        "generation: {kind: sampling, n_best: 9}",
        "tokenizer: word\ngeneration: {suppress_tokens: [ab]}",
        'tokenizer: char\ngeneration: {suppress_tokens: ["e\u0301"]}',
        "generation: {max_length: {ratio: 0.1, plus: 0}}",
        "data: {builtin: dates, train: {path: a}, valid: {path: b}}",
        f"{DATES}training: {{steps: 1, batch_tokens: 64}}\n",
        "training: {steps: 1, checkpoint: {keep: 2, average: 2}}",
        "model: {vocab_size: 99}\ntokenizer: {kind: bpe, vocab_size: 99}\n",
        "model: {vocab_size: 99}\ntokenizer: {kind: word, vocab_size: 200}\n",
    ],
)
def test_what_goes_together_is_valid(parse: Parse, text: str) -> None:
    parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "model: {d_model: x, attention: {heads: 7}}",
        "model: {d_model: 100, attention: {heads: x}}",
        "model: {d_model: 520, positions: rotary, attention: {d_k: 0}}",
        "training: {steps: 0}",
        "training: {step: x}",
        "data: {builtin: dates, max_length: 0}\ntraining: {steps: 1, batch_tokens: 3}\n",
        "model: {encoder: {attention: {heads: 7, d_k: x}}}",
    ],
)
def test_a_wrong_value_takes_part_in_no_conflict(refuse: Refuse, text: str) -> None:
    assert len(refuse(text)) == 1


def test_a_wrong_value_hides_no_conflict_of_its_neighbours(refuse: Refuse) -> None:
    problems = refuse(
        "training:\n  seed: x\n  sed: 3\n  checkpoint: {keep: 1, average: 2, evry: 3}\n"
    )
    assert [problem.path for problem in problems] == [
        "training.steps",
        "training.seed",
        "training.sed",
        "training.checkpoint.average",
        "training.checkpoint.evry",
    ]


def test_one_conflict_hides_no_other(refuse: Refuse) -> None:
    problems = refuse(
        "model:\n"
        "  d_model: 100\n"
        "  encoder: {attention: {heads: 3}}\n"
        "  decoder: {attention: {heads: 7}, mask: {kind: window, before: 1, after: 1}, layers: 0}\n"
        "training: {batch_tokens: 5, checkpoint: {average: 6}}\n"
        "name: a/b\n"
    )
    assert [problem.path for problem in problems] == [
        "model.encoder.attention.heads",
        "model.decoder.attention.heads",
        "model.decoder.mask.after",
        "model.decoder.layers",
        "training.steps",
        "training.checkpoint.average",
        "name",
    ]
