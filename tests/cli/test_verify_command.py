from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.main import run_command

WritePackage = Callable[..., Path]

SAMPLE = {
    "source_ids": [4, 5, 2],
    "options": {"beams": 1, "length_penalty": 0},
    "prefix": [8],
    "target_ids": [[8, 5, 2]],
    "scores": [-3.0],
}
TOLD = {
    "lines": 46,
    "equal": 45,
    "near_ties": 1,
    "logits_difference": 4e-7,
    "scores_difference": 3e-7,
    "varied": True,
}


def proof(*samples: object, **told: object) -> dict[str, str]:
    return {"transom.proof": json.dumps({**TOLD, **told, "samples": samples})}


def test_says_what_is_compared(
    write_choir: WritePackage, capfd: pytest.CaptureFixture[str]
) -> None:
    path = str(write_choir(proof(SAMPLE, SAMPLE)))

    assert run_command(["verify", path]) == 0
    stdout, stderr = capfd.readouterr()
    assert stderr == ""
    for part in ("digest", "2 samples", "46 lines", "45 equal", "1 parted", "4e-07"):
        assert part in stdout

    assert run_command(["verify", path, "--json"]) == 0
    result = json.loads(capfd.readouterr().out)
    assert result == {"samples": 2, "scores_difference": 0, "differences": [], "export": TOLD}


def test_says_how_a_narrower_file_came_out(
    write_choir: WritePackage, capfd: pytest.CaptureFixture[str]
) -> None:
    narrowed = {"form": "int8", "agreement": 0.996, "kept": ["many"]}

    assert run_command(["verify", str(write_choir(proof(SAMPLE, precision=narrowed)))]) == 0
    assert "form int8, agreement 0.996\n" in capfd.readouterr().out


def test_a_difference_is_a_failure(
    write_choir: WritePackage, capfd: pytest.CaptureFixture[str]
) -> None:
    path = str(write_choir(proof(SAMPLE, {**SAMPLE, "scores": [-4.0]})))

    assert run_command(["verify", path]) == 1
    stdout, stderr = capfd.readouterr()
    assert stdout == ""
    assert "sample 2, output 1" in stderr
    assert "1 difference" in stderr

    assert run_command(["verify", path, "--json"]) == 1
    assert len(json.loads(capfd.readouterr().out)["differences"]) == 1


def test_a_changed_file_is_a_failure(
    write_choir: WritePackage, capfd: pytest.CaptureFixture[str]
) -> None:
    path = write_choir(proof(SAMPLE))
    path.write_bytes(path.read_bytes().replace(b"transom.name", b"transom.nome"))

    assert run_command(["verify", str(path)]) == 1
    assert "damaged" in capfd.readouterr().err


def test_what_is_no_package_is_a_mistake(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "no.onnx").write_bytes(b"hello")
    for name in ("no.onnx", "missing.onnx", "."):
        assert run_command(["verify", str(tmp_path / name)]) == 2
        assert str(tmp_path) in capfd.readouterr().err


def test_the_file_s_words_never_drive_a_terminal(
    write_choir: WritePackage, capfd: pytest.CaptureFixture[str]
) -> None:
    path = write_choir(proof(SAMPLE, lines="\x1b[31m", varied=False))

    assert run_command(["verify", str(path)]) == 0
    stdout, _ = capfd.readouterr()
    assert "\x1b" not in stdout
    assert "shows little" in stdout


def test_needs_neither_torch_nor_onnx(write_choir: WritePackage) -> None:
    script = (
        "import sys, cli.main\n"
        "sys.modules['torch'] = sys.modules['onnx'] = None\n"
        f"sys.argv = ['transom', 'verify', {str(write_choir(proof(SAMPLE)))!r}]\n"
        "cli.main.main()"
    )

    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)

    assert (done.returncode, done.stderr) == (0, b"")
