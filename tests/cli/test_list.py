from __future__ import annotations

import pytest

from cli.main import run_command


def test_lists_the_bundled_blueprints(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["list"]) == 0
    assert {"dates", "katakana", "transformer-base"} <= set(capsys.readouterr().out.split())
