from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

WriteEcho = Callable[..., Path]
Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("stdin", "stdout"),
    [
        (b"", ""),
        (b"\n", "\n"),
        (b"abc", "abc\n"),
        (b"abc\n", "abc\n"),
        (b"a\nbb\n\nccc\ndddd\n", "a\nbb\n\nccc\ndddd\n"),
        (b"a\r\nb\r\n\r\nc", "a\nb\n\nc\n"),
        (b"\xef\xbb\xbfabc\n", "abc\n"),
        ("é日\u2028本\n".encode(), "é日 本\n"),
        (b"a\x0cb\rc\n", "a b c\n"),
        (b"a\n" * 1200 + b"b" * 200 + b"\n" + b"c\n" * 3, "a\n" * 1200 + "b" * 200 + "\nc\nc\nc\n"),
    ],
    ids=[
        "nothing", "an empty line", "no line end", "a line", "the third empty", "CRLF",
        "byte order mark", "line separator", "other breaks", "many",
    ],
)  # fmt: skip
def test_one_line_for_each(run_echo: Run, stdin: bytes, stdout: str) -> None:
    assert run_echo(stdin=stdin) == (0, stdout, "")


def test_lines_as_arguments(run_echo: Run) -> None:
    assert run_echo("abc", "", "日本", stdin=b"not read") == (0, "abc\n\n日本\n", "")


def test_lines_of_a_file(run_echo: Run, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_bytes("a\r\n\r\né".encode())

    assert run_echo("--input", str(file)) == (0, "a\n\né\n", "")


def test_lines_from_two_places_are_refused(run_echo: Run, tmp_path: Path) -> None:
    code, stdout, stderr = run_echo("abc", "--input", str(tmp_path / "lines.txt"))

    assert (code, stdout) == (2, "")
    assert "--input" in stderr


@pytest.mark.parametrize("name", ["missing.txt", "."])
def test_names_a_file_that_cannot_be_read(run_echo: Run, tmp_path: Path, name: str) -> None:
    code, stdout, stderr = run_echo("--input", str(tmp_path / name))

    assert (code, stdout) == (2, "")
    assert str(tmp_path / name) in stderr
    assert stderr.count("\n") == 1


def test_names_the_line_that_is_not_utf8(run_echo: Run) -> None:
    code, _, stderr = run_echo(stdin=b"a\n" * 700 + b"b\x92\n")

    assert code == 2
    assert "line 701" in stderr


def test_names_the_line_that_is_too_long(run_echo: Run) -> None:
    code, stdout, stderr = run_echo(stdin=b"a\n" * 600 + b"b" * 300 + b"\n")

    assert (code, stdout) == (2, "a\n" * 500)
    assert "line 601" in stderr
    assert "301" in stderr
    assert "300" in stderr


def test_names_the_argument_that_is_not_utf8(run_echo: Run) -> None:
    code, stdout, stderr = run_echo("abc", "a\udcffb")

    assert (code, stdout) == (2, "")
    assert stderr.startswith("line 2: ")
    assert stderr.count("\n") == 1


def test_json(run_echo: Run) -> None:
    code, stdout, _ = run_echo("--json", "é", "")

    assert code == 0
    assert [json.loads(line) for line in stdout.splitlines()] == [
        {"source": "é", "text": "é", "score": -2.0, "length": 2, "ended": True},
        {"source": "", "text": "", "score": 0.0, "length": 0, "ended": True},
    ]
    assert "é" in stdout


def test_warns_of_lines_that_were_cut_off(run_echo: Run) -> None:
    code, stdout, stderr = run_echo("--max-length", "2", "abc", "a", "defg")

    assert (code, stdout) == (0, "ab\na\nde\n")
    assert "2 of 3" in stderr


@pytest.mark.parametrize("wrong", [["--threads", "0"], ["--max-length", "0"], ["--beams", "2"]])
def test_refuses_wrong_options(run_echo: Run, wrong: list[str]) -> None:
    code, stdout, stderr = run_echo("abc", *wrong)

    assert (code, stdout) == (2, "")
    assert wrong[0] in stderr


def test_a_package_needs_neither_torch_nor_onnx(write_echo: WriteEcho) -> None:
    script = (
        "import sys, cli.main\n"
        "sys.modules['torch'] = sys.modules['onnx'] = None\n"
        f"sys.argv = ['transom', 'run', {str(write_echo())!r}, 'abc']\n"
        "cli.main.main()"
    )

    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"abc\n", b"")


def test_the_first_lines_come_before_the_last_are_read(write_echo: WriteEcho) -> None:
    command = [sys.executable, "-m", "cli.main", "run", str(write_echo())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"abc\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"abc\n"
        process.stdin.close()
        assert process.wait() == 0


def test_a_reader_that_leaves_ends_it_quietly(write_echo: WriteEcho) -> None:
    command = [sys.executable, "-m", "cli.main", "run", str(write_echo())]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"abc\n" * 500)
        process.stdin.flush()
        assert process.stdout.readline() == b"abc\n"
        process.stdout.close()
        process.stdin.write(b"abc\n" * 9500)
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


@pytest.mark.parametrize(
    "locale",
    [
        {"LC_ALL": "C.UTF-8"},
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "iso-8859-1"},
    ],
    ids=lambda variables: " ".join(map("=".join, variables.items())),
)
def test_the_locale_changes_nothing(write_echo: WriteEcho, locale: dict[str, str]) -> None:
    package = write_echo()
    accented = package.with_name("écho 日本.onnx")
    package.rename(accented)
    command = [sys.executable, "-m", "cli.main", "run", str(accented)]
    environment = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ} | locale

    piped = subprocess.run(
        command, check=False, input="é日\n".encode(), capture_output=True, env=environment
    )
    given = subprocess.run([*command, "é日"], check=False, capture_output=True, env=environment)
    wrong = subprocess.run([*command, "--é日"], check=False, capture_output=True, env=environment)

    assert (piped.returncode, piped.stdout, piped.stderr) == (0, "é日\n".encode(), b"")
    assert (given.returncode, given.stdout, given.stderr) == (0, "é日\n".encode(), b"")
    assert wrong.returncode == 2
    assert "--é日".encode() in wrong.stderr


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_warns_once_of_what_the_vocabulary_lacks(run_echo: Run, options: tuple[str, ...]) -> None:
    known = run_echo(*options, stdin=b"a\nb\n")
    code, stdout, stderr = run_echo(*options, stdin="a\n§b§\n¶\n".encode())

    assert known[2] == ""
    assert (code, stdout.count("\n")) == (0, 3)
    assert stderr.startswith("warning: ")
    assert stderr.count("\n") == 1
    assert "3 pieces in 2 lines" in stderr
    assert "`§` in line 2, `¶` in line 3" in stderr
