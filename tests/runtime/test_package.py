from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from builder.errors import DataError, MemoryFailure, PackageError
from builder.runtime.package import Found, Package
from builder.text.output import Output

WriteEcho = Callable[..., Path]
Change = Callable[[Path, Callable[[Any], object]], None]


@pytest.fixture
def echo(write_echo: WriteEcho) -> Package:
    return Package.load(write_echo(), threads=1)


def without_graph(package: Package) -> Package:
    """The same package, which cannot run its graph."""
    session: Any = None
    return dataclasses.replace(package, session=session)


def texts(found: list[Output]) -> list[str]:
    return [one.text for one in found]


def test_one_output_for_each_line_in_order(echo: Package) -> None:
    lines = ["abc", "日本", "", "é ß", "a"]

    outputs = echo.generate(lines)

    assert texts(outputs) == lines
    assert [one.length for one in outputs] == [4, 3, 0, 4, 2]
    assert [one.score for one in outputs] == [-4, -3, 0, -4, -2]
    assert all(one.ended for one in outputs)


def test_batching_changes_nothing(echo: Package) -> None:
    generator = np.random.default_rng(1)
    lines = [
        "".join(generator.choice(list("abcdefgh"), size=generator.integers(0, 90)))
        for _ in range(1000)
    ]
    lines[17] = "abc" * 500

    outputs = echo.generate(lines, batch_tokens=200)

    assert texts(outputs) == lines
    assert outputs[:50] == [echo.generate([line])[0] for line in lines[:50]]


def test_line_breaks_never_come_out(echo: Package) -> None:
    assert texts(echo.generate(["a\nb", "c\u2028d", "e\rf"])) == ["a b", "c d", "e f"]


def test_unknown_characters_become_the_replacement_character(echo: Package) -> None:
    assert texts(echo.generate(["a\N{SNOWMAN}b"])) == ["a\ufffdb"]


def test_cut_off_is_told(echo: Package) -> None:
    short, long = echo.generate(["a", "abcdef"], max_length=3)

    assert short == Output("a", -2.0, 2, ended=True)
    assert long == Output("abc", -3.0, 3, ended=False)


def test_nothing_calls_no_graph(echo: Package) -> None:
    deaf = without_graph(echo)

    assert deaf.generate([]) == []
    assert deaf.generate(["", "  "]) == [Output("", 0.0, 0, ended=True)] * 2
    assert deaf.generate_ids([]) == []
    assert deaf.generate_ids([[]]) == [[Found([], 0.0, ended=True)]]


@pytest.mark.parametrize(
    "sources",
    [
        [[4, 5, 2], [6, 2]],
        [np.array([4, 5, 2], np.int32), np.array([6, 2], np.uint16)],
        np.array([[4, 5, 2], [6, 2, 0]], np.int32),
        (ids for ids in ([4, 5, 2], [6, 2])),
    ],
    ids=["lists", "arrays", "padded array", "generator"],
)
def test_ids_of_any_whole_kind(echo: Package, sources: Any) -> None:
    assert [one.ids for (one,) in echo.generate_ids(sources)] == [[4, 5, 2], [6, 2]]


@pytest.mark.parametrize(
    "wrong", [[4.0, 5.0], [True, False], ["4"], [[4, 5]], [4, -1], [4, 0, 5], 4]
)
def test_refuses_what_are_no_ids(echo: Package, wrong: Any) -> None:
    with pytest.raises(PackageError, match="line 8:"):
        without_graph(echo).generate_ids([[4, 2], wrong], first_line=7)


def test_refuses_an_id_equal_to_the_vocabulary_size(echo: Package) -> None:
    size = echo.metadata.source_vocab_size
    assert echo.generate_ids([[size - 1, 2]])[0][0].ids == [size - 1, 2]

    with pytest.raises(PackageError, match=f"line 1: id {size}"):
        without_graph(echo).generate_ids([[size, 2]])


def test_says_what_it_runs_on(write_echo: WriteEcho) -> None:
    assert Package.load(write_echo(), threads=2).threads == 2
    assert Package.load(write_echo()).threads is None
    assert Package.load(write_echo()).provider == "CPUExecutionProvider"


def test_positional_limit(write_echo: WriteEcho) -> None:
    package = Package.load(write_echo(source_limit=64))
    assert texts(package.generate(["a" * 63])) == ["a" * 63]

    deaf = without_graph(package)
    for noun in ("line", "pair"):
        with pytest.raises(DataError, match=rf"{noun} 12: 65 tokens.* 64 positions"):
            deaf.generate(["a", "a" * 64], first_line=11, noun=noun)
    with pytest.raises(DataError, match=r"line 2: 65 tokens.* 64 positions"):
        deaf.generate_ids([[4, 2], [4] * 64 + [2]])


def test_two_tokenizers(write_echo: WriteEcho) -> None:
    shared = Package.load(write_echo()).metadata.source_tokenizer.to_json()
    path = write_echo(
        metadata={
            "transom.tokenizer": None,
            "transom.tokenizer.source": shared,
            "transom.tokenizer.target": shared.replace('"a"', '"A"'),
        }
    )

    assert texts(Package.load(path).generate(["abba"])) == ["AbbA"]


def test_needs_neither_torch_nor_onnx(write_echo: WriteEcho) -> None:
    script = (
        "import sys; from builder.runtime.package import Package;"
        f"print(Package.load({str(write_echo())!r}).generate(['abc'])[0].text);"
        "sys.exit(bool({'torch', 'onnx', 'pydantic'} & sys.modules.keys()))"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "abc\n", "")


def break_reshape(model: Any, name: str = "broken") -> None:
    node = onnx.helper.make_node("Reshape", ["source_ids", "one"], ["broken"], name=name)
    model.graph.node.insert(0, node)
    model.graph.node[-1].input[0] = "broken"


def test_a_graph_that_fails_is_a_package_error(
    write_echo: WriteEcho, change_package: Change
) -> None:
    path = write_echo()
    change_package(path, break_reshape)

    package = Package.load(path)
    with pytest.raises(PackageError, match=r"echo\.onnx"):
        package.generate(["abc"])


def test_the_engine_s_words_never_drive_a_terminal(
    write_echo: WriteEcho, change_package: Change
) -> None:
    path = write_echo()
    change_package(path, lambda model: break_reshape(model, "\x1b[31m"))
    package = Package.load(path)
    with pytest.raises(PackageError) as failed:
        package.generate(["abc"])

    change_package(path, lambda model: setattr(model.graph.node[0], "op_type", "\x1b[31mX"))
    with pytest.raises(PackageError) as refused:
        Package.load(path)

    for caught in (failed, refused):
        assert r"\x1b[31m" in str(caught.value)
        assert "\x1b" not in str(caught.value)


def widen(model: Any) -> None:
    """Let the graph ask for more memory than any machine has."""
    size = onnx.helper.make_tensor("size", onnx.TensorProto.INT64, [2], [2**31, 2**20])
    model.graph.initializer.append(size)
    last = model.graph.node[-1]
    last.output[0] = "narrow"
    flat = onnx.helper.make_node("ReduceSum", ["narrow"], ["sum"], keepdims=0)
    wide = onnx.helper.make_node("Expand", ["sum", "size"], ["wide"])
    model.graph.node.extend(
        [flat, wide, onnx.helper.make_node("Unsqueeze", ["wide", "one"], ["target_ids"])]
    )


@pytest.mark.parametrize("noun", ["line", "pair"])
def test_where_memory_ends_the_longest_line_is_named(
    write_echo: WriteEcho, change_package: Change, noun: str
) -> None:
    path = write_echo()
    change_package(path, widen)

    with pytest.raises(MemoryFailure, match=rf"{noun} 13, of 5 tokens and 2 read"):
        Package.load(path).generate(["a", "ab", "abcd", ""], first_line=11, noun=noun)


def test_memory_may_end_before_the_engine_begins(
    echo: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(np, "full", refuse)
    with pytest.raises(MemoryFailure, match="line 1, of 4 tokens;"):
        echo.generate(["abc"])
