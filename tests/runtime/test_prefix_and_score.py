"""What a package is told to write: the beginnings of outputs, and whole targets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builder.errors import DataError, PackageError
from builder.runtime.package import Package
from builder.text.output import Scored

WritePackage = Callable[..., Path]


@pytest.fixture
def choir(write_choir: WritePackage) -> Package:
    return Package.load(write_choir(), threads=1)


def texts(choir: Package, lines: list[str], **asked: Any) -> list[str]:
    return [one.text for one in choir.generate(lines, **asked)]


def test_outputs_begin_as_told(choir: Package) -> None:
    lines = ["abcd", "", "gh", "a"]

    assert texts(choir, lines, prefix="ef") == ["efcd", "", "ef", "ef"]
    assert texts(choir, lines, prefix=["h", "h", "", "bcd"]) == ["hbcd", "", "gh", "bcd"]
    assert texts(choir, lines, prefix=["h", "h", "", "bcd"], batch_tokens=1) == [
        "hbcd", "", "gh", "bcd",
    ]  # fmt: skip
    every = choir.generate_n_best(lines[:1], prefix="ef", n_best=3)
    assert [one.text for one in every[0]] == ["efcd", "efcd", "efc"]
    assert texts(choir, lines) == lines
    assert texts(choir, lines, prefix="") == lines


def test_ids_begin_as_told(choir: Package) -> None:
    sources = [[4, 5, 6, 2], [7, 2]]

    found = choir.generate_ids(sources, prefixes=[[-1, 9], [8]])
    assert [row[0].ids for row in found] == [[4, 9, 6, 2], [8, 2]]

    size = choir.metadata.target_tokenizer.vocab_size
    for wrong in ([[4]], [[size], []], [[-2], []]):
        with pytest.raises(PackageError, match=f"{size}"):
            choir.generate_ids(sources, prefixes=wrong)


def test_a_beginning_is_shorter_than_the_limit_of_its_line(choir: Package) -> None:
    # A line of n letters has n + 1 tokens, and its output at most as many and 2 more.
    assert texts(choir, ["a", "", "abc"], prefix="hgf") == ["hgf", "", "hgf"]

    with pytest.raises(DataError, match=r"line 12: .*\b4\b.*\b4\b"):
        choir.generate(["abc", "a"], prefix="hgfe", first_line=11)
    with pytest.raises(DataError, match=r"pair 1: .*\b3\b.*\b3\b"):
        choir.generate(["abcdef"], prefix=["abc"], max_length=3, noun="pair")


def test_positions_limit_beginnings_too(write_choir: WritePackage) -> None:
    limits = {"source": None, "target": 5, "ratio": 1.0, "plus": 50}
    package = Package.load(write_choir({"transom.limits": json.dumps(limits)}))

    assert texts(package, ["a"], prefix="bcde") == ["bcde"]
    with pytest.raises(DataError, match=r"\b5\b.*\b5\b"):
        package.generate(["a"], prefix="bcdef")


def test_a_beginning_that_no_output_can_have(choir: Package) -> None:
    with pytest.raises(DataError, match="'z'"):
        choir.generate(["a"], prefix="az")
    with pytest.raises(DataError, match="line 2: 'z'"):
        choir.generate(["a", "b"], prefix=["a", "z"])
    with pytest.raises(DataError, match=r"\b1\b.*\b2\b"):
        choir.generate(["a", "b"], prefix=["a"])


def test_a_file_that_takes_none_says_how_to_get_one(write_echo: WritePackage) -> None:
    echo = Package.load(write_echo())
    assert not echo.takes_prefix

    calls: list[Callable[[], object]] = [
        lambda: echo.generate(["a"], prefix="a"),
        lambda: echo.generate_ids([[4, 2]], prefixes=[[4]]),
        lambda: echo.score([("a", "a")]),
    ]
    for call in calls:
        with pytest.raises(PackageError, match=r"echo\.onnx: .*--set generation\.target_prefix"):
            call()


def test_scores_are_asked_for_without_a_penalty(choir: Package) -> None:
    pairs = [("abc", "de"), ("a", "abc"), ("", ""), ("abcdef", ""), ("b", "§")]
    expected = [Scored(-3, 3), Scored(-4, 4), Scored(0, 0), Scored(-1, 1), Scored(-2, 2)]

    assert choir.score(pairs) == expected
    assert choir.score(pairs, batch_tokens=1) == expected
    assert choir.score([]) == []


def test_targets_that_cannot_be_scored(choir: Package) -> None:
    assert choir.score([("a", "bcd")]) == [Scored(-4, 4)]
    with pytest.raises(DataError, match=r"line 8: .*\b5\b.*\b4\b.*run folder"):
        choir.score([("a", "b"), ("a", "bcde")], first_line=7)
    with pytest.raises(DataError, match="pair 1: "):
        choir.score([("", "b")], noun="pair")
