"""docs/commands.md names every command and every option."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cli.main import app

PAGE = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### transom (\w+)\n(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL))
ROOT: Any = get_command(app)


def options(command: Any) -> set[str]:
    names = {name for parameter in command.params for name in parameter.opts}
    return {name for name in names if name.startswith("--")} - {"--help"}


def test_every_command_has_its_section() -> None:
    assert SECTIONS.keys() == ROOT.commands.keys()
    assert all(name in PAGE for name in options(ROOT))


def test_exit_codes_mean_the_same_here_and_in_the_help() -> None:
    told = " ".join(ROOT.help.split())
    codes = re.findall(r"^\| (\d+) \| (.+) \|$", PAGE, re.MULTILINE)

    assert {code for code, _ in codes} >= {"0", "1", "2"}
    for code, meaning in codes:
        assert re.search(rf"\b{code} {re.escape(meaning)}[;.]", told), code


@pytest.mark.parametrize("name", ROOT.commands)
def test_every_option_is_told_where_its_command_is(name: str) -> None:
    told = set(re.findall(r"--[a-z][a-z-]+", SECTIONS[name])) - {"--help"}

    assert f"transom {name}" in SECTIONS[name]
    assert told == options(ROOT.commands[name])
