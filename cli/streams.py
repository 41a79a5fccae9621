"""Results to stdout and notes to stderr, as UTF-8 lines whatever the locale says."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

import typer

READER_GONE = 141
"""Exit code where the reader of stdout left early, as in `transom run … | head -1`."""


def open_closed() -> None:
    """Put the null device in the place of standard streams that the shell closed, as by `2>&-`.

    Whoever closes a stream wants nothing of it: stdin is then empty, and what goes to stdout or
    stderr is lost in silence. Left closed, a stream is None in Python, where notes would go to
    stdout instead of stderr, and its number goes to the next file that is opened.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
    nothing = Path(os.devnull)
    sys.stdin = sys.stdin or nothing.open("r", encoding="utf-8")
    sys.stdout = sys.stdout or nothing.open("w", encoding="utf-8")
    sys.stderr = sys.stderr or nothing.open("w", encoding="utf-8")


def use_utf8() -> None:
    """Make arguments, file names and the standard streams UTF-8.

    Python takes the encoding of arguments and file names from the locale, once, when it starts:
    under another one this process starts again in Python's UTF-8 mode.
    """
    if sys.getfilesystemencoding() != "utf-8":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors, newline="\n")


def write_results(lines: Iterable[str]) -> None:
    """Write each of `lines` to stdout at once; a reader who has left ends the command quietly."""
    try:
        sys.stdout.writelines(f"{line}\n" for line in lines)
        sys.stdout.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
        raise typer.Exit(READER_GONE) from None


def note(text: str) -> None:
    """Write `text` to stderr: progress, warnings, and whatever else is not a result.

    A stderr that is full or has no reader changes neither the work nor its exit code.
    """
    try:
        print(text, file=sys.stderr, flush=True)  # noqa: T201
    except OSError:
        _silence(sys.stderr)


def _silence(stream: TextIO) -> None:
    """Let what is still in the buffer not fail once more when Python flushes it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
