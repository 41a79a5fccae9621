from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

import pytest

import builder.writer
from builder.blueprint.override import allow_only
from builder.errors import PackageError, TrainingFailure
from cli.main import explain, run_command


def raise_in_run(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let `transom run` raise `error`."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    monkeypatch.setattr(builder.writer, "open_writer", fail)


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (PackageError("x.onnx: damaged"), 2, "x.onnx: damaged"),
        (TrainingFailure("the loss is not finite"), 1, "the loss is not finite"),
        (OSError(errno.ENOSPC, "No space left on device", "x\x1by"), 1, r"x\x1by"),
        (OSError(errno.ENAMETOOLONG, "File name too long", "x"), 2, "x"),
        (MemoryError(), 1, "not enough memory: "),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), 1, "memory: "),
        (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), 1, "not enough memory: "),
        (ModuleNotFoundError("no", name="torch"), 2, "transom[train]"),
        (ModuleNotFoundError("no", name="babel.dates"), 2, "transom[demo]"),
        (ModuleNotFoundError("no", name="elsewhere"), 1, "internal error"),
        (ValueError("one\ntwo"), 1, "internal error"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (SystemExit(143), 143, ""),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_every_end_has_its_code_and_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    told: str,
) -> None:
    monkeypatch.delenv("TRANSOM_DEBUG", raising=False)
    raise_in_run(monkeypatch, error)

    assert run_command(["run", "x.onnx", "line"]) == code

    stdout, stderr = capsys.readouterr()
    assert stdout == ""
    assert told in stderr
    assert stderr.count("\n") == bool(told)


@pytest.mark.parametrize("command", ["train", "run", "evaluate", "export"])
def test_what_helps_where_memory_ends_is_told(command: str) -> None:
    message, code = explain(MemoryError(), ["--debug", command, "x"])

    assert code == 1
    assert message.startswith("not enough memory: ")
    assert ("`training.batch_tokens`" in message) == (command == "train")


@pytest.mark.parametrize("off", ["0", ""])
def test_debug_shows_where(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], off: str
) -> None:
    monkeypatch.setenv("TRANSOM_DEBUG", off)
    raise_in_run(monkeypatch, PackageError("damaged"))

    assert run_command(["run", "x.onnx", "line"]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert run_command(["--debug", "run", "x.onnx", "line"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["rum"],
        ["run"],
        ["run", "x.onnx", "--no-such-option"],
        ["--no-such-option"],
        ["run", "x.onnx", "--threads", "none"],
        ["run", "a" * 300],
        ["export", "a" * 300],
        ["evaluate", "a" * 300],
        ["train", "dates", "--out", "a" * 300],
        ["build", "dates", "--like", "a" * 300],
        ["new", "--out", "a" * 300],
        ["run", "x.onnx", "--set", "generation.beams=8"],
        ["check", "dates", "--out", "x"],
        ["export", "x", "--json"],
        ["evaluate", "x.onnx", "--samples", "-1"],
        ["evaluate", "x.onnx", "--source", "lines.txt"],
        ["evaluate", "x.onnx", "--set"],
        ["train", "--resume"],
        ["train", "dates", "--resume", "--overwrite", "--out", "x"],
        ["check", "no/such/file.yaml"],
        ["train", "no/such/file.yaml"],
        ["run", "no/such/file.onnx"],
        ["run", "."],
        ["export", "no/such/run"],
        ["export", "."],
        ["evaluate", "no/such/file.onnx"],
    ],
    ids=" ".join,
)
def test_mistakes_end_with_2_and_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run_command(arguments) == 2

    stdout, stderr = capsys.readouterr()
    assert stdout == ""
    assert stderr.count("\n") == 1
    assert "Traceback" not in stderr
    assert list(tmp_path.iterdir()) == []


def test_no_arguments_show_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([]) == 2

    stdout, stderr = capsys.readouterr()
    assert stdout == ""
    assert "Commands:" in stderr
    assert "  train " in stderr


def test_an_unknown_option_is_named_with_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", "x.onnx", "--beams", "8"]) == 2

    assert capsys.readouterr().err.startswith("transom run: no such option: --beams")


def test_an_option_without_its_value_is_named_with_its_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRANSOM_DEBUG", "")  # which --debug changes for good
    for arguments in (["check", "x", "--set"], ["--debug", "check", "x", "--set"]):
        assert run_command(arguments) == 2
        assert "transom check: option '--set'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "place", "found", "allowed"),
    [
        (["run", "x", "--threads", "0"], "--threads", "0", "from 1 to 1,000"),
        (["run", "x", "--threads=1001"], "--threads", "1001", "from 1 to 1,000"),
        (["run", "x", "--max-length", "0"], "--max-length", "0", "from 1 to 2,147,483,647"),
        (["run", "x", "--max-length", "9" * 30], "--max-length", "9" * 30, "from 1 to "),
        (["run", "x", "--max-length", ""], "--max-length", "", "from 1 to "),
        (["evaluate", "x", "--samples", "x\x1b"], "--samples", r"x\x1b", "of at least 0"),
        (["evaluate", "x", "--samples", "-1"], "--samples", "-1", "of at least 0"),
        (["data", "x", "--samples", "1.5"], "--samples", "1.5", "of at least 0"),
    ],
)
def test_a_number_that_is_none_or_out_of_range_is_told_with_the_range(
    capsys: pytest.CaptureFixture[str], arguments: list[str], place: str, found: str, allowed: str
) -> None:
    assert run_command(arguments) == 2

    stderr = capsys.readouterr().err
    assert stderr.startswith(f"transom {arguments[0]}: {place}: found `{found}`")
    assert f"a whole number {allowed}" in stderr


def test_a_command_mistyped_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    run_command(["evaluat"])

    assert "'evaluate'" in capsys.readouterr().err


def test_control_characters_of_an_argument_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", "x\x1b[31m.onnx"]) == 2
    assert run_command(["check", "x\x1b[31m.yaml"]) == 2
    assert run_command(["--x\x1b[31m"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["--version"]) == 0
    assert capsys.readouterr().out == f"transom {builder.__version__}\n"


@pytest.mark.parametrize("columns", ["80", "200"])
def test_the_list_of_commands_cuts_no_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert run_command(["--help"]) == 0

    for line in capsys.readouterr().out.split("Commands:")[1].splitlines()[1:]:
        assert len(line) <= 80
        assert re.fullmatch(r"  [a-z]+ +\S.*[^.]\.", line)


@pytest.mark.parametrize(("command", "taken"), [("export", "generation."), ("evaluate", "data.")])
def test_the_example_of_set_is_one_that_the_command_takes(
    capsys: pytest.CaptureFixture[str], command: str, taken: str
) -> None:
    assert run_command([command, "--help"]) == 0

    (example,) = re.findall(r"as in\s+(\S+=\S+);", capsys.readouterr().out)
    assert example.startswith(taken)
    allow_only([example], taken.rstrip("."), reason="")


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["--help"]) == 0

    stdout, stderr = capsys.readouterr()
    assert stderr == ""
    listed = {line.split()[0] for line in stdout.split("Commands:")[1].splitlines() if line}
    assert listed == {
        *("check", "build", "train", "export", "run", "evaluate", "score", "verify"),
        *("list", "new", "data", "diff", "schema"),
    }


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_it_with_their_code(number: signal.Signals, code: int) -> None:
    waits = (
        "import builder.writer, time, cli.main\n"
        "def wait(*_, **__):\n"
        "    try:\n"
        "        print('ready', flush=True)\n"
        "        time.sleep(60)\n"
        "    finally:\n"
        "        print('tidied', flush=True)\n"
        "builder.writer.open_writer = wait\n"
        "cli.main.main()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", waits, "run", "x.onnx"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.05)
        process.send_signal(number)
        stdout, stderr = process.communicate()

    assert (process.returncode, stdout) == (code, "tidied\n")
    assert "Traceback" not in stderr
