from __future__ import annotations

import pytest

from builder.blueprint.bundled import bundled_blueprints
from builder.blueprint.load import load_blueprint
from builder.blueprint.plan import make_plan
from cli.main import run_command


def test_lists_the_bundled_blueprints(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["list"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(bundled_blueprints())
    for name, line in zip(bundled_blueprints(), lines, strict=True):
        blueprint = load_blueprint(name)
        assert str(make_plan(blueprint).parameters) in line
        assert line.endswith(blueprint.description)
