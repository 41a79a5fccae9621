from __future__ import annotations

import json

import pytest

from builder.blueprint.reference import reference_text
from builder.blueprint.schema import json_schema
from cli.main import run_command


def test_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["schema"]) == 0

    out, err = capsys.readouterr()
    assert (json.loads(out), err) == (json_schema(), "")


def test_prints_the_page_of_reference(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["schema", "--markdown"]) == 0

    assert capsys.readouterr() == (reference_text() + "\n", "")
