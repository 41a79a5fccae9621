"""`transom build` and `transom check` print what the library finds, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from builder.blueprint.load import load_blueprint, parse_blueprint
from builder.blueprint.plan import make_plan
from builder.blueprint.plan.text import describe
from builder.blueprint.write import dump_blueprint
from cli.main import run_command


def test_check_prints_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["check", "dates"]) == 0

    out, err = capsys.readouterr()
    assert out.startswith("dates: valid: ")
    assert (out.count("\n"), err) == (1, "")


@pytest.mark.parametrize("command", ["check", "build"])
def test_problems_go_to_stderr(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("transom: 1\nmodel: {droput: 0.1}\n")

    assert run_command([command, str(file), "--set", "trainin.steps=5"]) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert f"{file}:2:9: model.droput" in err
    assert "--set trainin.steps=5: trainin" in err


def test_build_prints_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["build", "transformer-base", "--set", "description=a \\e[31m b"]) == 0

    out, err = capsys.readouterr()
    blueprint = load_blueprint("transformer-base", ["description=a \\e[31m b"])
    assert (out, err) == (
        "".join(f"{line}\n" for line in describe(blueprint, make_plan(blueprint))),
        "",
    )
    assert "parameters                63,045,632" in out


def test_build_estimates_time_like_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blueprint = load_blueprint("dates", ["model.vocab_size=90"])
    (tmp_path / "blueprint.yaml").write_text(dump_blueprint(blueprint), encoding="utf-8")
    data = {"pairs": 10, "tokens": {"source": 160, "target": 110}}
    rows = {"source": 90, "target": 90}
    log = [
        {"event": "data", "train": data, "vocabulary": rows},
        {"event": "progress", "tokens_per_second": 1000.0},
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, log)), encoding="utf-8")

    assert run_command(["build", "dates", "--like", str(tmp_path), "--json"]) == 0
    duration = json.loads(capsys.readouterr().out)["duration"]
    assert (duration["flops_ratio"], duration["tokens_per_second"]) == (1.0, 1000.0)

    assert run_command(["build", "dates", "--like", str(tmp_path)]) == 0
    assert "at 1,000 target tokens per second" in capsys.readouterr().out

    assert run_command(["build", "dates", "--like", str(tmp_path / "none")]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_build_prints_the_resolved_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["build", "dates", "--resolved", "--set", "training.minutes=3e-4"]) == 0

    resolved = parse_blueprint(capsys.readouterr().out, "resolved.yaml")
    assert resolved == load_blueprint("dates", ["training.minutes=3e-4"])


def test_build_prints_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["build", "dates", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == make_plan(load_blueprint("dates")).as_dict()

    assert run_command(["build", "dates", "--json", "--resolved"]) == 0
    blueprint = load_blueprint("dates").model_dump(mode="json", by_alias=True)
    assert json.loads(capsys.readouterr().out)["blueprint"] == blueprint


def test_check_imports_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from cli.main import run_command\n"
        "run_command(['check', 'dates'])\n"
        "heavy = ('torch', 'numpy', 'rich', 'onnx', 'onnxruntime', 'tokenizers')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
