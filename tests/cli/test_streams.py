"""What a shell can do to the standard streams of a command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="redirections of POSIX shells")

WriteEcho = Callable[..., Path]
Shell = Callable[..., tuple[int, str, str]]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Run a command under redirections; gives exit code, stdout and stderr."""

    def run(redirections: str, *arguments: str | Path) -> tuple[int, str, str]:
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {redirections}', "sh", sys.executable, "-m", "cli.main",
             *map(str, arguments)],
            check=False, capture_output=True, text=True, input="abc\n",
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    return run


def test_a_closed_stderr_loses_the_notes_and_leaves_stdout_alone(
    shell: Shell, write_echo: WriteEcho
) -> None:
    assert shell("2>&-", "check", "nothing-of-this-name") == (2, "", "")

    warned = ("run", write_echo(), "--max-length", "2", "abc")
    code, stdout, stderr = shell("", *warned)
    assert (code, stdout) == (0, "ab\n")
    assert "cut off" in stderr
    assert shell("2>&-", *warned) == (0, "ab\n", "")


def test_a_closed_stdin_is_empty(shell: Shell, write_echo: WriteEcho) -> None:
    assert shell("<&-", "run", write_echo()) == (0, "", "")
    assert shell("<&-", "run", write_echo(), "abc") == (0, "abc\n", "")


def test_a_closed_stdout_keeps_nothing(shell: Shell, write_echo: WriteEcho) -> None:
    assert shell(">&-", "run", write_echo()) == (0, "", "")
    code, stdout, stderr = shell(">&-", "check", "nothing-of-this-name")
    assert (code, stdout) == (2, "")
    assert "nothing-of-this-name" in stderr


@pytest.mark.parametrize("closed", ["<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_several_closed_streams_change_no_code(
    shell: Shell, write_echo: WriteEcho, tmp_path: Path, closed: str
) -> None:
    package = write_echo()
    before = package.read_bytes()

    assert shell(closed, "run", package, "abc")[:2] == (0, "")
    assert shell(closed, "run", tmp_path / "none.onnx", "abc")[0] == 2
    assert package.read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_device_fails_for_results_and_not_for_notes(
    shell: Shell, write_echo: WriteEcho
) -> None:
    package = write_echo()

    code, stdout, stderr = shell(">/dev/full", "run", package)
    assert (code, stdout, stderr.count("\n")) == (1, "", 1)
    assert "internal" not in stderr
    assert shell("2>/dev/full", "run", package, "--max-length", "2") == (0, "ab\n", "")
    assert shell("2>/dev/full", "check", "nothing-of-this-name") == (2, "", "")


def test_a_stdout_that_is_open_for_reading_alone_is_told(
    shell: Shell, write_echo: WriteEcho
) -> None:
    code, _, stderr = shell("1</dev/null", "run", write_echo())

    assert (code, stderr.count("\n")) == (1, 1)
    assert "internal" not in stderr
