"""`transom run` on packages written by hand."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.main import run_command

WriteEcho = Callable[..., Path]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run_package(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[[Path], Run]:
    """Give `transom run` on a package, which gives exit code, stdout and stderr."""

    def on(package: Path) -> Run:
        def run(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            code = run_command(["run", str(package), *arguments])
            return code, *capfd.readouterr()

        return run

    return on


@pytest.fixture
def run_echo(write_echo: WriteEcho, run_package: Callable[[Path], Run]) -> Run:
    """Run `transom run` on the echo package."""
    return run_package(write_echo(source_limit=300))


@pytest.fixture
def run_choir(write_choir: WriteEcho, run_package: Callable[[Path], Run]) -> Run:
    """Run `transom run` on a package with beams."""
    return run_package(write_choir())
