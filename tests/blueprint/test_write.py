"""The resolved form holds every default, loads back to the same, and any YAML reader reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.bundled import bundled_blueprints
from builder.blueprint.load import load_blueprint, parse_blueprint
from builder.blueprint.write import dump_blueprint
from builder.errors import BlueprintError, Problem

Parse = Callable[..., Blueprint]

AWKWARD = r"""
    1e-4 no 0512 ~ null Null true yes On y 1:30 0x1f 0o17 1_000 .inf .NaN 5 -5 +.5 2021-03-03 = <<
    #a *a &a !a %a @a `a 'a "a {a [a a,b | > ? a\b $5 ${X} été 日本
"""
WITH_SPACES = [
    "a: b",
    "a #b",
    "- a",
    "? a",
    " a",
    "a ",
    "a\nb",
    "\ta",
    "a" * 500,
    "",
    "it's \U0001f600",
]
INVISIBLE = ["\x85", "\u2028", "\ufeff", "\x1b[31m", "\0", "\u202e"]


def again(blueprint: Blueprint) -> Blueprint:
    return parse_blueprint(dump_blueprint(blueprint), "again.yaml")


def test_the_resolved_form_round_trips(parse: Parse) -> None:
    blueprint = parse(
        "model: {positions: rotary, attention: {heads: 4}, decoder: {layers: 1, cross_attention:"
        " {heads: 2}, mask: {kind: window, before: 3}}, embeddings: {tie: none}}\n"
        "tokenizer: {source: char, target: {kind: word, vocab_size: 99}}\n"
        "data: {train: {source: a, target: b}, valid: {path: c, columns: {source: x, target: y}}}\n"
        "training: {steps: 4e3, schedule: {kind: constant, learning_rate: 1e-4}, clip: 1}\n"
    )
    loaded = again(blueprint)

    assert loaded == blueprint
    assert dump_blueprint(loaded) == dump_blueprint(blueprint)


@pytest.mark.parametrize("name", bundled_blueprints())
def test_bundled_blueprints_round_trip(name: str) -> None:
    blueprint = load_blueprint(name)
    assert again(blueprint) == blueprint
    assert dump_blueprint(again(blueprint)) == dump_blueprint(blueprint)


@pytest.mark.parametrize("text", [*AWKWARD.split(), *WITH_SPACES, *INVISIBLE])
def test_text_stays_text_for_every_reader(parse: Parse, text: str) -> None:
    blueprint = parse("").model_copy(update={"description": text})
    written = dump_blueprint(blueprint)

    assert again(blueprint).description == text
    assert yaml.safe_load(written)["description"] == text


@given(st.text(max_size=60))
def test_any_text_survives(text: str) -> None:
    blueprint = parse_blueprint("transom: 1\nmodel: {}\n", "bp.yaml", name="bp")
    blueprint = blueprint.model_copy(update={"description": text})
    assert again(blueprint).description == text


@given(
    st.floats(min_value=1e-300, max_value=1e12),
    st.floats(min_value=0, max_value=1, exclude_max=True),
    st.integers(min_value=1, max_value=2**31 - 1),
)
def test_any_number_survives(real: float, share: float, count: int) -> None:
    blueprint = parse_blueprint(
        f"transom: 1\nmodel: {{dropout: {share!r}, norm: {{eps: {real!r}}}}}\n"
        f"training: {{steps: {count}, minutes: {real!r}}}\n",
        "bp.yaml",
        name="bp",
    )
    assert blueprint.training is not None
    assert blueprint.training.minutes == real
    assert again(blueprint) == blueprint
    plain = yaml.safe_load(dump_blueprint(blueprint))
    assert plain["training"]["minutes"] == real
    assert plain["training"]["steps"] == count
    assert plain["model"]["encoder"]["dropout"]["residual"] == share


OLD = """
generation:
  kind: greedy
  max_length:
    ratio: 1.0
    plus: 50
export:
  precision: float32
  opset: 20
"""
"""The last sections of a resolved file from before beams, sampling and other precisions."""


def test_an_older_resolved_form_means_the_same(parse: Parse) -> None:
    written = dump_blueprint(parse(""))
    assert parse(written.partition("generation:\n")[0] + OLD) == parse("")


@pytest.mark.parametrize(
    "text",
    [
        "generation: {kind: beam, beams: 8, n_best: 2, suppress_tokens: ['1', 'no', ' ']}",
        "generation: {kind: sampling, top_k: 5, top_p: 0.5, seed: 0, no_repeat_ngram_size: 2}",
        "export: {precision: {kind: int8, weights: int7}, options: inputs, proof: {embed: true}}",
        "export: {precision: float16}",
    ],
)
def test_every_strategy_and_precision_round_trips(parse: Parse, text: str) -> None:
    assert again(parse(text)) == parse(text)


def test_every_default_is_written_out_and_nothing_cascades(parse: Parse) -> None:
    plain = yaml.safe_load(dump_blueprint(parse("training: {steps: 1}\ntokenizer: char\n")))

    def complete(value: Any, path: str = "") -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                complete(inner, f"{path}.{key}")

    complete(plain)
    assert list(plain)[:4] == ["transom", "name", "description", "model"]
    assert set(plain["model"]) == {
        "d_model",
        "vocab_size",
        "embeddings",
        "encoder",
        "decoder",
        "init",
    }
    assert plain["model"]["encoder"]["attention"] == {
        "heads": 8, "kv_heads": 8, "d_k": 64, "d_v": 64, "bias": False, "scale": None,
        "qk_norm": False, "softcap": None,
    }  # fmt: skip
    assert plain["model"]["encoder"]["norm"]["final"] is False
    assert plain["training"]["validate"]["metric"] == "loss"
    assert set(plain["tokenizer"]) == {"shared", "source", "target"}


def test_names_and_paths_are_readable(parse: Parse) -> None:
    text = (
        "name: été 日本 \U0001f600\ndata: {builtin: dates, test: {path: /d/é 日 \U0001f600.tsv}}\n"
    )
    written = dump_blueprint(parse(text))
    assert "été 日本 \U0001f600" in written
    assert "/d/é 日 \U0001f600.tsv" in written


WORDS = """
    model layers attention heads d_model positions kind learned rotary max_length encoder decoder
    mask window before after dropout tokenizer char bpe vocab_size shared source target data
    builtin dates train valid training steps schedule constant learning_rate name transom droput
    None no 1e-4 extends num_layers lr prenorm generation beam sampling beams suppress_tokens
    do_sample export precision int8 type tied_embeddings rope_theta embeddings tie src level
"""
KEYS = st.sampled_from(WORDS.split())
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 600) | st.floats(-1, 2) | KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)


@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_whatever_is_written_is_resolved_or_refused(sections: dict[str, Any]) -> None:
    """No text ends in another error, and what is valid round-trips."""
    text = yaml.safe_dump({"transom": 1, "model": {}, **sections}, allow_unicode=True)
    problems: list[Problem] = []
    try:
        blueprint = parse_blueprint(text, "bp.yaml", name="bp")
    except BlueprintError as error:
        problems = error.problems
    if problems:
        assert len(set(problems)) == len(problems)
        assert all(problem.line >= 1 for problem in problems)
    else:
        assert again(blueprint) == blueprint
