"""The JSON Schema takes what the loader takes, and refuses what no loader could take."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from builder.blueprint.bundled import bundled_blueprints
from builder.blueprint.load import parse_blueprint
from builder.blueprint.nodes import Source, raw
from builder.blueprint.read import read
from builder.blueprint.schema import json_schema, schema_text
from builder.errors import BlueprintError

ROOT = Path(__file__).parents[2]
SCHEMA = json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)


def values(text: str) -> Any:
    """What an editor sees in a blueprint."""
    node, problems = read(text, Source("bp.yaml", tuple(text.splitlines())))
    assert node is not None
    assert problems == []
    return raw(node)


def refused(text: str) -> bool:
    try:
        parse_blueprint(text, "bp.yaml", name="bp")
    except BlueprintError:
        return True
    return False


def with_head(text: str) -> str:
    """The text with what every blueprint needs."""
    head = "" if "transom:" in text else "transom: 1\n"
    return f"{head}{text}\n" + ("" if "model:" in text or "extends:" in text else "model: {}\n")


def test_is_a_schema_of_its_dialect() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_the_file_for_editors_is_current() -> None:
    """Renew it: transom schema > blueprints/blueprint.schema.json."""
    file = ROOT / "blueprints" / "blueprint.schema.json"
    assert file.read_text(encoding="utf-8") == schema_text() + "\n"


@pytest.mark.parametrize("name", bundled_blueprints())
def test_bundled_blueprints_are_valid_and_lead_editors_to_it(name: str) -> None:
    file = bundled_blueprints()[name]
    text = file.read_text(encoding="utf-8")

    assert [error.message for error in VALIDATOR.iter_errors(values(text))] == []
    line, link = text.splitlines()[0].split("$schema=")
    assert line == "# yaml-language-server: "
    assert (file.parent / link).resolve() == ROOT / "blueprints" / "blueprint.schema.json"


@pytest.mark.parametrize("section", [key for key in SCHEMA["$defs"] if "." not in key])
def test_every_key_is_described(section: str) -> None:
    definition = SCHEMA["$defs"][section]
    described = {key for key, value in definition["properties"].items() if "description" in value}

    assert definition["description"]
    assert definition["additionalProperties"] is False
    assert set(definition["properties"]) - described <= {"kind"}


def test_defaults_and_ranges_are_told() -> None:
    heads = SCHEMA["$defs"]["Attention"]["properties"]["heads"]
    assert (heads["default"], heads["anyOf"][0]["minimum"], heads["anyOf"][0]["maximum"]) == (
        8,
        1,
        1000,
    )
    assert SCHEMA["$defs"]["WrittenModel"]["properties"]["positions"]["default"] == "sinusoidal"
    assert SCHEMA["$defs"]["WrittenModel"]["properties"]["dropout"]["default"] == 0.1
    assert "default" not in SCHEMA["$defs"]["Encoder"]["properties"]["layers"]  # it is inherited


APART = "\nmodel: {embeddings: {tie: none}}"
GOOD = [
    "model: {}",
    "name: ~",
    "model: {d_model: 4e3, layers: 6.0, attention: {heads: 8, d_k: null}}",
    "model: {dropout: 0.3}",
    "model: {dropout: {residual: 0, attention: null}, vocab_size: {source: 9, target: 9}}",
    "model: {positions: rotary, norm: rms_norm, encoder: {mask: causal}}",
    "model: {positions: {kind: learned, max_length: 9}}",
    "model: {norm: {placement: pre}, encoder: {norm: {kind: ~, eps: 1e-6}}}",
    "model: {positions: {kind: learned, max_length: 9}, encoder: {positions: {max_length: 8}}}",
    "model: {decoder: {mask: {kind: window, before: 3}, cross_attention: {heads: 4}}}",
    "tokenizer: char",
    "tokenizer: {kind: bpe, vocab_size: 100, lowercase: true}",
    f"tokenizer: {{kind: bpe, vocab_size: 100, source: {{vocab_size: 90}}}}{APART}",
    f"tokenizer: {{source: word, target: {{kind: bpe, vocab_size: 100}}}}{APART}",
    "data: {builtin: dates, max_length: 64}",
    "data: {train: {source: a, target: b}, valid: {path: c, columns: {source: en, target: de}}}",
    "data: {train: {path: a}, valid: {builtin: dates}, test: ~}",
    "training: {minutes: 1, schedule: {kind: constant, learning_rate: 1e-3}, threads: 2}",
    "training: {steps: 1, optimizer: {betas: [0.9, 0.98]}, validate: {patience: ~}}",
    "generation: beam",
    "generation: {kind: beam, beams: 4, length_penalty: 0, suppress_tokens: [a, b]}",
    "generation: {kind: sampling, top_k: ~, top_p: 1, min_length: 3}",
    "export: {precision: {kind: int8, weights: int7}, options: inputs, proof: {embed: true}}",
    "export: {precision: float16, opset: ~}",
    "extends: dates",
    "extends: dates\nmodel: {positions: {base: 100}}\ntraining: {schedule: {factor: 2}}",
    "extends: dates\ntokenizer: {lowercase: true}\ndata: {max_length: null}",
    "extends: ~\nmodel: {}",
]
BAD = [
    "bogus: 1",
    "transom: 2",
    "transom: ~",
    "model: ~",
    "extends: dates\ntransom: ~",
    "extends: dates\nmodel: {droput: 0.1}",
    "model: {d_model: '6'}",
    "model: {d_model: 6.5}",
    "model: {d_model: 0}",
    "model: {layers: true}",
    "model: {heads: 4}",
    "model: {attention: {bias: yes}}",
    "model: {dropout: 1}",
    "model: {vocab_size: {source: 9}}",
    "model: {positions: learned}",
    "model: {positions: {kind: learned}}",
    "model: {positions: {kind: rotary, max_length: 9}}",
    "model: {positions: {kind: rope}}",
    "model: {mask: causal}",
    "model: {decoder: {mask: window}}",
    "model: {encoder: {cross_attention: {heads: 4}}}",
    "tokenizer: bpe",
    "tokenizer: {kind: bpe}",
    "tokenizer: {source: char}",
    "tokenizer: {source: char, target: bpe}",
    "data: {train: {source: a, target: b}}",
    "data: {train: {source: a}, valid: {path: b}}",
    "data: {builtin: times}",
    "data: {train: {path: a, columns: {source: 0, target: 1}}, valid: {path: b}}",
    "training: {steps: 1, schedule: inverse_sqrt}",
    "training: {steps: 1, schedule: {kind: noam, learning_rate: 1}}",
    "training: {steps: 1, optimizer: {betas: [0.9]}}",
    "training: {steps: 1, threads: all}",
    "export: {precision: float8}",
    "export: {precision: {kind: float32, max_drop: 1}}",
    "generation: {beams: 4}",
    "generation: {kind: beam, top_k: 4}",
    "generation: {kind: beam, suppress_tokens: a}",
    "generation: {kind: sampling, temperature: 0}",
]


@pytest.mark.parametrize("text", GOOD)
def test_takes_what_the_loader_takes(text: str) -> None:
    text = with_head(text)
    assert not refused(text)
    assert [error.message for error in VALIDATOR.iter_errors(values(text))] == []


@pytest.mark.parametrize("text", BAD)
def test_refuses_with_the_loader(text: str) -> None:
    text = with_head(text)
    assert refused(text)
    assert not VALIDATOR.is_valid(values(text))


WHOLE = [
    json.loads(
        json.dumps(parse_blueprint(path.read_text("utf-8"), "bp.yaml").model_dump(by_alias=True))
    )
    for path in bundled_blueprints().values()
] + [values(with_head(text)) for text in GOOD]
LEAVES = [
    None, True, -1, 0, 1, 0.5, 1.5, 4000.0, "rotary", "none", "char", "dates", [], [0.1, 0.2], {},
    {"kind": "none"}, {"kind": "bpe"}, {"source": 5, "target": 6}, {"builtin": "dates"},
]  # fmt: skip
KEYS = ["heads", "layers", "lowercase", "mask", "max_length", "source", "train", "warmup", "bogus"]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_takes_whatever_the_loader_takes(data: st.DataObject) -> None:
    blueprint = deepcopy(data.draw(st.sampled_from(WHOLE)))
    for _ in range(data.draw(st.integers(1, 2))):
        section = blueprint
        while below := [value for value in section.values() if isinstance(value, dict) and value]:
            if data.draw(st.booleans()):
                break
            section = data.draw(st.sampled_from(below))
        key = data.draw(st.sampled_from([*section, *KEYS]))
        if data.draw(st.booleans()):
            section.pop(key, None)
        else:
            section[key] = deepcopy(data.draw(st.sampled_from(LEAVES)))

    if not VALIDATOR.is_valid(blueprint):
        assert refused(json.dumps(blueprint))
