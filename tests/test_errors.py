from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from builder import errors
from builder.errors import (
    BlueprintError,
    BuilderError,
    Failure,
    Problem,
    is_out_of_memory,
    printable,
)


def tree(base: type[BuilderError]) -> set[type[BuilderError]]:
    return {base}.union(*(tree(each) for each in base.__subclasses__()))


def test_a_mistake_exits_with_2_and_a_failure_with_1() -> None:
    assert tree(Failure) == {
        Failure,
        errors.TrainingFailure,
        errors.ProofFailure,
        errors.MemoryFailure,
    }
    for each in tree(BuilderError):
        assert each.exit_code == (1 if issubclass(each, Failure) else 2)


def test_want_of_memory_is_known_whoever_tells_it() -> None:
    too_much = 1 << 50  # numbers; no machine has so many
    for allocate in (torch.empty, np.empty, bytearray):
        with pytest.raises((MemoryError, RuntimeError)) as caught:
            allocate(too_much)
        assert is_out_of_memory(caught.value)
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"))
    assert is_out_of_memory(OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)))


def test_other_errors_are_no_want_of_memory() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2, 3) @ torch.ones(2, 3)
    assert not is_out_of_memory(caught.value)
    assert not is_out_of_memory(FileNotFoundError(errno.ENOENT, "none", "out of memory.txt"))


def caret_of(problem: Problem) -> tuple[str, str]:
    """The shown line and what of it stands above the caret and after."""
    _, line, caret = str(problem).splitlines()
    assert caret.strip() == "^"
    return line, line[len(caret) - 1 :]


def test_a_problem_shows_its_place_and_its_line() -> None:
    problem = Problem(
        "7 heads cannot share d_model=512",
        path="model.attention.heads",
        file="blueprints/bad.yaml",
        line=4,
        column=15,
        source_line="  attention: {heads: 7}",
    )

    assert str(problem).splitlines() == [
        "blueprints/bad.yaml:4:15: model.attention.heads: 7 heads cannot share d_model=512",
        "    4 |   attention: {heads: 7}",
        "                      ^",
    ]


@pytest.mark.parametrize(
    ("source_line", "column", "marked"),
    [
        ("heads: 7", 1, "heads: 7"),
        ("\theads: 7", 2, "heads: 7"),
        ("a:\t\x1b[31m7", 9, "7"),
        ("größe: \u202e7", 9, "7"),
        ("x: 日本", 4, "日本"),
        ("end:", 5, ""),
    ],
)
@pytest.mark.parametrize("number", [4, 1234])
def test_the_caret_stands_under_the_column(
    source_line: str, column: int, marked: str, number: int
) -> None:
    problem = Problem("wrong", "a", "b.yaml", number, column, source_line)

    line, at_caret = caret_of(problem)

    assert at_caret == marked
    assert line.isprintable()


def test_a_problem_without_a_place_is_its_message_alone() -> None:
    assert str(Problem("no text")) == "no text"
    assert str(Problem("no text", file="--set")) == "--set: no text"
    assert str(Problem("no text", path="data.train")) == "data.train: no text"


def test_names_of_files_and_keys_are_escaped() -> None:
    problem = Problem("wrong", path="mod\x1b[31mel", file="bad\x07\n.yaml", line=1, column=1)

    assert str(problem).isprintable()


def test_a_blueprint_s_error_carries_all_problems_in_order() -> None:
    problems = [Problem("first", line=1, column=1, file="a.yaml"), Problem("second")]
    error = BlueprintError(problems)

    assert error.problems == problems
    assert str(error).splitlines() == [str(problem) for problem in problems]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, accents é, 日本, 👍", "plain, accents é, 日本, 👍"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\tb\nc\r", "a\\tb\\nc\\r"),
        ("\u202e\u200f\ufeff\u2028\x85", "\\u202e\\u200f\\ufeff\\u2028\\x85"),
        ("half \udc80", "half \\udc80"),
        (Path("dir") / "a\x00b", str(Path("dir") / "a\\x00b")),
    ],
)
def test_invisible_characters_are_escaped_and_others_kept(text: str | Path, shown: str) -> None:
    assert printable(text) == shown
