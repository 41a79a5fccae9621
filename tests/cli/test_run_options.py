"""What `transom run` can be asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest

WriteEcho = Callable[..., Path]
Run = Callable[..., tuple[int, str, str]]
Change = Callable[[Path, Callable[[Any], object]], None]


def choir_lines(found: str) -> list[str]:
    assert found.endswith("\n")
    return found.removesuffix("\n").split("\n")


def test_n_lines_for_each_with_n_best(run_choir: Run) -> None:
    code, stdout, stderr = run_choir("--n-best", "3", stdin=b"abc\n\na")

    assert code == 0
    assert choir_lines(stdout) == ["abc", "abc", "ab", "", "", "", "a", "a", ""]
    assert stderr == "warning: cut off by a length limit: 3 of 9 outputs\n"
    assert run_choir("--set", "generation.n_best=3", "abc")[1] == "abc\nabc\nab\n"


def test_scores_stand_before_their_outputs(run_choir: Run) -> None:
    asked = ["--set", "generation.length_penalty=0", "--set", "generation.beams=2"]

    assert run_choir("--scores", *asked, "abc", "")[1] == "-1004.0000\tabc\n0.0000\t\n"
    _, stdout, _ = run_choir("--scores", "--n-best", "2", *asked, "", "a")
    assert choir_lines(stdout) == ["0.0000\t", "-inf\t", "-1002.0000\ta", "-1001.0000\ta"]


def test_json_holds_all_of_several(run_choir: Run) -> None:
    _, stdout, _ = run_choir("--json", "--n-best", "3", "--set", "generation.beams=3", "a", "")
    first, empty = map(json.loads, stdout.splitlines())

    two = [
        {"text": "a", "score": -2062.0, "length": 2, "ended": True},
        {"text": "a", "score": -2061.0, "length": 1, "ended": False},
    ]
    assert first == {"source": "a", **two[0], "n_best": two}
    nothing = {"text": "", "score": 0.0, "length": 0, "ended": True}
    assert empty == {"source": "", **nothing, "n_best": [nothing]}


def test_outputs_begin_as_told(run_choir: Run, run_echo: Run) -> None:
    assert run_choir("--prefix", "fa", "abcd", "", "b") == (0, "facd\n\nfa\n", "")

    for prefix, told in (("fz", "'z'"), ("abcdef", r"line 1: .*\b6\b.*\b4\b")):
        code, stdout, stderr = run_choir("--prefix", prefix, "b")
        assert (code, stdout, stderr.count("\n")) == (2, "", 1)
        assert re.search(told, stderr)
    code, stdout, stderr = run_echo("--prefix", "a", "b")
    assert (code, stdout) == (2, "")
    assert "--set generation.target_prefix=true" in stderr


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (["--n-best", "10", "--set", "generation.beams=5"], r"10.*5"),
        (["--n-best", "0"], "--n-best"),
        (["--set", "generation.kind=sampling"], r"generation\.kind.*export"),
        (["--set", "generation.beam=2"], "did you mean `beams`"),
        (["--set", "model.layers=2"], r"model\.layers"),
        (["--set", "generation.beams"], "key=value"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(run_choir: Run, wrong: list[str], told: str) -> None:
    code, stdout, stderr = run_choir("abc", *wrong)

    assert (code, stdout) == (2, "")
    assert stderr.count("\n") == 1
    assert re.search(told, stderr)


def test_who_draws_says_from_what_seed(
    write_echo: WriteEcho, change_package: Change, run_package: Callable[..., Run]
) -> None:
    options = {"max_length": 2**31 - 1, "seed": 7}
    blueprint = "transom: 1\nname: echo\nmodel: {}\ngeneration: {kind: sampling, seed: 7}\n"
    metadata = {"transom.options": json.dumps(options), "transom.blueprint": blueprint}
    path = write_echo(metadata=metadata)
    change_package(path, take_seed)
    draw = run_package(path)

    code, stdout, stderr = draw("abc")
    assert (code, stdout, stderr.count("\n")) == (0, "abc\n", 1)
    assert re.search(r"\bseed 7\b", stderr)
    assert re.search(r"\bseed 9\b", draw("--set", "generation.seed=9", "abc")[2])


def take_seed(model: Any) -> None:
    value = onnx.helper.make_tensor_value_info("seed", onnx.TensorProto.INT64, [])
    model.graph.input.append(value)
