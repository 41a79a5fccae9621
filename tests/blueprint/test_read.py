"""YAML is read as 1.2, every value keeps its place, and no text does harm."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.blueprint.nodes import Mapping, Source, raw, walk
from builder.blueprint.read import read, scalar_value, split_lines
from builder.errors import BlueprintError, Problem


def read_text(text: str) -> tuple[object, list[Problem]]:
    node, problems = read(text, Source("bp.yaml", split_lines(text)))
    return (raw(node) if node else None), problems


def refused(text: str) -> Problem:
    with pytest.raises(BlueprintError) as raised:
        read_text(text)
    return raised.value.problems[-1]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("off", "off"),
        ("y", "y"),
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("tRUE", "tRUE"),
        ("null", None),
        ("~", None),
        ("", None),
        ("None", "None"),
        ("1e-4", 0.0001),
        ("5E-4", 0.0005),
        ("4e3", 4000.0),
        ("1.0e4", 10000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-3", -3),
        ("+3", 3),
        ("0512", 512),
        ("0o17", 15),
        ("0x1f", 31),
        ("0b11", "0b11"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2021-03-03", "2021-03-03"),
        (".inf", math.inf),
        ("-.Inf", -math.inf),
        ("1e999", math.inf),
        ("9" * 5000, math.inf),
        ("'1e-4'", "1e-4"),
        ('"null"', "null"),
        ("=", "="),
        ("${NOT_SET}/x", "${NOT_SET}/x"),
        ("$5", "$5"),
    ],
)
def test_scalars_follow_the_core_schema(written: str, value: object) -> None:
    read_value, problems = read_text(f"key: {written}\n")

    assert problems == []
    assert read_value == {"key": value}
    assert isinstance(read_value, dict)
    assert type(read_value["key"]) is type(value)


def test_not_a_number_is_read_as_such() -> None:
    value = scalar_value(".nan")
    assert isinstance(value, float)
    assert math.isnan(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_that_python_prints_is_read_back(number: float) -> None:
    value = scalar_value(repr(number))
    assert isinstance(value, float)
    assert value == number


def test_places_are_those_of_the_keys() -> None:
    text = "model:\n  attention: {heads: 7}\n  list:\n    - 1\n    - 2\n"
    node, _ = read(text, Source("bp.yaml", split_lines(text)))

    assert isinstance(node, Mapping)
    places = {path: (n.place.line, n.place.column) for path, n in walk(node)}
    assert places[("model", "attention", "heads")] == (2, 15)
    assert places[("model", "list", 1)] == (5, 7)
    assert all(n.place.path == path for path, n in walk(node))


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "---\n", "---\n# x\n", "~"])
def test_an_empty_document_has_no_value(text: str) -> None:
    assert read_text(text) == (None, [])


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, 1),
        ("a:\n  b: 1\n  b: 2\n", 3, 3),
        ("a: {b: 1, b: 1}\n", 1, 11),
        ("'a': 1\na: 2\n", 2, 1),
    ],
)
def test_a_key_written_twice_is_told_with_both_lines(text: str, line: int, column: int) -> None:
    _, [problem] = read_text(text)

    assert (problem.line, problem.column) == (line, column)
    first = 1 if line != 3 or text.startswith("a: 1") else 2
    assert str(first) in problem.message
    assert str(line) in problem.message


def test_mistakes_in_a_section_written_twice_stay_visible() -> None:
    value, _ = read_text("a: {x: 1}\na: {x: 2, y: 3}\n")
    assert value == {"a": {"x": 1, "y": 3}}


@pytest.mark.parametrize("key", ["1", "true", "~", "[a]", "{a: b}", "!x a", "1.5"])
def test_a_key_must_be_text(key: str) -> None:
    value, problems = read_text(f"? {key}\n: 3\nb: 4\n")

    assert value == {"b": 4}
    assert [problem.line for problem in problems] == [1]


@pytest.mark.parametrize("text", ["1x: 3", "no: 3", "'1': 3", "null_: 3"])
def test_words_are_keys(text: str) -> None:
    _, problems = read_text(text)
    assert problems == []


@pytest.mark.parametrize(
    "tagged",
    [
        "!!python/object/apply:os.system ['touch marker']",
        "!!python/name:os.system",
        "!local 5",
        "!!str 5",
        "!!int '5'",
        "!!binary aGVsbG8=",
        "!!map {a: 1}",
        "!!set {a}",
    ],
)
def test_a_tag_is_refused_and_never_acted_on(
    tagged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    value, [problem] = read_text(f"a: 1\nb: {tagged}\n")

    assert value == {"a": 1}
    assert (problem.line, problem.column, problem.path) == (2, 1, "b")
    assert "unsafe" not in problem.message.lower()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("depth", [40, 900, 50_000])
def test_deep_nesting_is_refused(depth: int) -> None:
    assert len(str(refused("[" * depth + "]" * depth))) < 2_000


@pytest.mark.parametrize(
    ("text", "line", "column", "word"),
    [
        ("model:\n\td_model: 512\n", 2, 1, "tab"),
        ("model:\n  a: 1\n \tb: 2\n", 3, 2, "tab"),
        ("model:\n  a: 1\n   b: 2\n", 3, 5, "indentation"),
        ("model:\n   a: 1\n  b: 2\n", 3, 3, "indentation"),
        ("a: b: c\n", 1, 5, "colon"),
        ("a: BART (2020): learned\n", 1, 15, "quotes"),
        ("m:\n  a:1\n  b: 2\n", 2, 3, "space is missing"),
        ("m:\n  b: 2\n  a:one # why\n\n# so\nc: 3\n", 3, 3, "space is missing"),
        ("b: 2\na:{c: 1}\n", 2, 1, "space is missing"),
        ("b: 2\na:1\n", 2, 1, "space is missing"),
        ("# so\na:1   # why\nb: 2\n", 2, 1, "space is missing"),
        ("b:\n  http://c\n d: 1\n", 3, 3, "indentation"),
        ("a: [1, 2\nb: 3\n", 2, 2, ""),
        ("a: 'x\nb: 3\n", 3, 1, ""),
        ("a: *unknown\n", 1, 4, ""),
        ("a: @x\n", 1, 4, ""),
        ("a: 1\n---\nb: 2\n", 2, 1, "document"),
        ("a: \x1b[31m\n", 1, 4, ""),
        ("a: 1\nb: x\x07y\n", 2, 5, ""),
    ],
)
def test_broken_yaml_is_told_with_its_place(text: str, line: int, column: int, word: str) -> None:
    problem = refused(text)

    assert (problem.line, problem.column) == (line, column)
    assert word in problem.message
    assert problem.message.isprintable()


def test_a_key_run_together_with_its_value_is_told_and_read() -> None:
    value, [problem] = read_text("a: {b:8, 'd:1': 2, e: f:1}\n")
    assert value == {"a": {"b": 8, "d:1": 2, "e": "f:1"}}
    assert (problem.line, problem.column, problem.path) == (1, 5, "a.b")
    assert "space is missing" in problem.message


def test_a_huge_text_is_refused() -> None:
    assert "1,000,000" in refused("a: " + "x" * 1_000_001).message


def test_five_thousand_honest_lines_are_read() -> None:
    text = "".join(f"key{i}:\n  value: {i}\n" for i in range(2_500))
    value, problems = read_text(text)
    assert problems == []
    assert isinstance(value, dict)
    assert value["key2499"] == {"value": 2499}


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        _, problems = read_text(text)
    except BlueprintError as error:
        problems = error.problems
        assert problems
    assert all("\x1b" not in str(problem) for problem in problems)
