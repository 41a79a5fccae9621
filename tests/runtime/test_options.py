"""What a file can be asked for, by name and by range."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builder.errors import PackageError
from builder.runtime.options import complete
from builder.runtime.package import Package

WritePackage = Callable[..., Path]
Change = Callable[[Path, Callable[[Any], object]], None]

EVERY: dict[str, int | float] = {
    "max_length": 2**31 - 1,
    "min_length": 1,
    "beams": 4,
    "n_best": 1,
    "length_penalty": 0.6,
    "temperature": 1.0,
    "top_k": 10,
    "top_p": 0.9,
    "seed": 1,
}


@pytest.fixture
def choir(write_choir: WritePackage) -> Package:
    return Package.load(write_choir(), threads=1)


def drop_defaults(model: Any) -> None:
    names = {*EVERY} & {value.name for value in model.graph.input}
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in names]
    assert len(kept) < len(model.graph.initializer)
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)


@pytest.mark.parametrize("inputs", [False, True], ids=["defaults", "inputs"])
def test_options_reach_the_graph(
    write_choir: WritePackage, change_package: Change, inputs: bool
) -> None:
    path = write_choir()
    if inputs:
        change_package(path, drop_defaults)
    package = Package.load(path, threads=1)

    assert package.generate(["abc"])[0].score == pytest.approx(-4 - 60 - 3000)
    asked = package.generate(["abc"], beams=2, length_penalty=2, min_length=3, max_length=3)
    assert asked[0].score == pytest.approx(-3 - 200 - 1000 - 20000)
    assert asked[0].text == "abc"
    assert not asked[0].ended
    assert package.generate_ids([[4, 2]], beams=np.int32(2))[0][0].score == -2 - 60 - 1000


def test_what_is_not_found_is_left_out(choir: Package) -> None:
    many, few, none = choir.generate_n_best(["abc", "a", ""], n_best=3, beams=3)

    assert [(one.text, one.length) for one in many] == [("abc", 4), ("abc", 3), ("ab", 2)]
    assert [(one.text, one.length) for one in few] == [("a", 2), ("a", 1)]
    assert [(one.text, one.score, one.ended) for one in none] == [("", 0.0, True)]
    assert all(one.score > -math.inf for row in (many, few) for one in row)


def test_one_output_is_the_first_of_several(choir: Package) -> None:
    lines = ["abc", "", "d e"]
    several = choir.generate_n_best(lines, n_best=4)

    assert choir.generate(lines) == [row[0] for row in several]
    assert choir.generate(lines, n_best=4) == choir.generate(lines)


@pytest.mark.parametrize(
    ("name", "wrong", "right"),
    [
        ("max_length", [0, -1, 2**31, 1.0, "4", None, True, [4]], [1, np.int64(7), 2**31 - 1]),
        ("min_length", [0, True], [1, 5]),
        ("beams", [0, -4, 2.5, False, 10**6, 10**400], [1, 1000]),
        ("n_best", [0, True], [1, 4]),
        ("length_penalty", [-0.1, math.inf, math.nan, "0", True], [0, 0.0, 1, np.float32(0.5)]),
        ("temperature", [0, -1, math.inf, math.nan, True], [1e-9, 1, 1000]),
        ("top_k", [0, -1, 1.5], [1, 10**6]),
        ("top_p", [0, -0.5, 1.1, math.nan], [1e-9, 0.5, 1]),
        ("seed", [-1, 2**31, 0.5, True], [0, 2**31 - 1]),
    ],
)
def test_ranges(name: str, wrong: list[object], right: list[float]) -> None:
    for value in wrong:
        with pytest.raises(PackageError, match=f"`{name}`"):
            complete(EVERY, {name: value})
    for value in right:
        options = complete(EVERY, {name: value})
        assert options == {**EVERY, name: value}
        assert type(options[name]) is type(EVERY[name])


@pytest.mark.parametrize(("n_best", "beams"), [(10, 5), (5, None)])
def test_no_more_best_than_beams(choir: Package, n_best: int, beams: int | None) -> None:
    asked = {"n_best": n_best} | ({} if beams is None else {"beams": beams})

    for generate in (choir.generate, choir.generate_n_best):
        with pytest.raises(PackageError, match=rf"\b{n_best}\b.*\b{beams or 4}\b"):
            generate(["abc"], **asked)


def test_the_best_alone_needs_one_beam(write_choir: WritePackage) -> None:
    own = {"max_length": 9, "beams": 4, "n_best": 3}
    package = Package.load(write_choir({"transom.options": json.dumps(own)}))

    assert package.generate(["abc"], beams=2)[0].text == "abc"
    with pytest.raises(PackageError, match=r"n_best=3.*beams=2"):
        package.generate_n_best(["abc"], beams=2)


def test_an_unknown_option_is_told_with_those_there_are(choir: Package) -> None:
    with pytest.raises(PackageError) as caught:
        choir.generate(["abc"], beam=8)

    assert "`beam`" in str(caught.value)
    assert all(name in str(caught.value) for name in choir.metadata.options)
    with pytest.raises(PackageError, match="seed"):
        choir.generate([], seed=3)


def test_the_file_says_what_it_can_be_asked(write_choir: WritePackage) -> None:
    own = {"max_length": 7, "length_penalty": 1}
    package = Package.load(write_choir({"transom.options": json.dumps(own)}))

    assert package.metadata.options == own
    assert isinstance(package.metadata.options["length_penalty"], float)
    assert package.generate(["abcdefgh"])[0].length == 7


def test_a_graph_without_its_option_is_refused(write_echo: WritePackage) -> None:
    path = write_echo(metadata={"transom.options": json.dumps({"max_length": 9, "beams": 2})})

    with pytest.raises(PackageError, match="beams"):
        Package.load(path)


def test_a_graph_that_needs_more_is_refused(
    write_choir: WritePackage, change_package: Change
) -> None:
    path = write_choir({"transom.options": json.dumps({"max_length": 9})})
    change_package(path, drop_defaults)

    with pytest.raises(PackageError, match="beams"):
        Package.load(path)
