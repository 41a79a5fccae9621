"""The house of the design holds: who imports whom, what loads when, and how big a piece may be."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).parent.parent
SOURCES = sorted(path for room in ("builder", "cli") for path in (ROOT / room).rglob("*.py"))
HEAVY = {"torch", "onnx", "onnxruntime", "numpy", "pydantic", "sacrebleu"}


def test_data_flows_one_way(capsys: pytest.CaptureFixture[str]) -> None:
    broken = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True)

    assert not broken, capsys.readouterr().out


def loaded_by(*command: str) -> set[str]:
    """The heavy packages that a fresh Python has loaded once `command` is done."""
    script = (
        "import sys, atexit\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        f"sys.argv = {['transom', *command[1:]]!r}\n"
        f"{command[0]}"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=ROOT
    )
    return HEAVY & set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("module", "may"),
    [
        ("builder.blueprint.load", {"pydantic"}),
        ("builder.text.tokenizer", set()),
        ("builder.runtime.package", {"numpy", "onnxruntime"}),
        ("cli.main", set()),
    ],
)
def test_importing_loads_little(module: str, may: set[str]) -> None:
    assert loaded_by(f"import {module}") <= may


def test_help_loads_nothing() -> None:
    assert not loaded_by("from cli.main import main; main()", "--help")


@pytest.mark.parametrize(
    "command",
    [
        *("build", "train", "export", "run", "evaluate", "score", "verify"),
        *("new", "data", "diff", "schema"),
    ],
)
def test_help_of_a_command_loads_no_engine(command: str) -> None:
    """Typer itself loads pydantic to read arguments."""
    assert loaded_by("from cli.main import main; main()", command, "--help") <= {"pydantic"}


@pytest.mark.parametrize(
    "command",
    [["check", "transformer-base"], ["list"], ["diff", "dates", "katakana"], ["schema"]],
    ids=" ".join,
)
def test_blueprints_are_read_without_an_engine(command: list[str]) -> None:
    loaded = loaded_by("from cli.main import main; main()", *command)

    assert loaded <= {"pydantic"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pieces_are_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert len(text.splitlines()) <= 300
    assert [name for name, lines in functions(text) if lines > 40] == []


def functions(text: str) -> Iterator[tuple[str, int]]:
    """Each function of a file with its number of lines."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def test_control_ids_are_the_same_in_every_room() -> None:
    """The rooms may not import one another, so each has its own."""
    from builder.nn import transformer
    from builder.search import found
    from builder.text import control

    assert (control.PAD_ID, control.BOS_ID, control.EOS_ID, control.UNK_ID) == (0, 1, 2, 3)
    assert len(control.CONTROL_NAMES) == 4
    assert (transformer.PAD_ID, transformer.BOS_ID) == (control.PAD_ID, control.BOS_ID)
    assert (found.PAD_ID, found.BOS_ID, found.EOS_ID) == (
        control.PAD_ID,
        control.BOS_ID,
        control.EOS_ID,
    )
