"""`transom train` and its mistakes, as a shell sees them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.main import run_command

BLUEPRINT = """\
transom: 1
name: letters
model: {d_model: 16, layers: 1, attention: {heads: 2}, feed_forward: {d_ff: 16}}
tokenizer: char
data: {train: {path: pairs.tsv}, valid: {path: pairs.tsv}, max_length: 16}
training: {steps: 1000000, batch_tokens: 64, threads: 1, checkpoint: {every: 1000000}}
"""
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def blueprint(tmp_path: Path) -> Path:
    """A blueprint of a training that takes hours, with its data."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "pairs.tsv").write_text("abc\tcba\nab\tba\nb\tb\ncab\tbac\n" * 5)
    (home / "letters.yaml").write_text(BLUEPRINT)
    return home / "letters.yaml"


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def one_line(capsys: Capture) -> str:
    stdout, stderr = capsys.readouterr()
    assert stdout == ""
    assert stderr.count("\n") == 1
    return stderr


def test_a_folder_with_a_run_is_refused_and_kept(
    blueprint: Path, tmp_path: Path, capsys: Capture
) -> None:
    command = ["train", str(blueprint), "--out", str(tmp_path / "out")]
    assert run_command([*command, "--set", "training.steps=1"]) == 0
    before = contents(tmp_path / "out")
    capsys.readouterr()

    assert run_command(command) == 2

    message = one_line(capsys)
    for part in (str(tmp_path / "out"), "--resume", "--overwrite"):
        assert part in message
    assert contents(tmp_path / "out") == before


def test_a_folder_with_other_files_is_refused_and_kept(
    blueprint: Path, tmp_path: Path, capsys: Capture
) -> None:
    before = contents(tmp_path / "home")

    assert run_command(["train", str(blueprint), "--out", str(tmp_path / "home")]) == 2

    assert str(tmp_path / "home") in one_line(capsys)
    assert contents(tmp_path / "home") == before


def test_a_file_in_the_place_of_the_folder_is_refused(
    blueprint: Path, tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "out"
    out.write_text("")

    assert run_command(["train", str(blueprint), "--out", str(out)]) == 2
    assert str(out) in one_line(capsys)


def test_a_missing_data_file_is_named_with_its_whole_path(
    blueprint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(blueprint.parent)
    (blueprint.parent / "pairs.tsv").unlink()

    assert run_command(["train", "letters.yaml", "--out", str(tmp_path / "out")]) == 2

    message = one_line(capsys)
    assert str(blueprint.parent / "pairs.tsv") in message
    assert "data.train.path" in message
    assert not (tmp_path / "out").exists()


def test_no_run_to_go_on_with(tmp_path: Path, capsys: Capture) -> None:
    assert run_command(["train", "--resume", "--out", str(tmp_path / "none")]) == 2
    assert str(tmp_path / "none") in one_line(capsys)


def wait_for(file: Path, text: str) -> None:
    """Wait until `text` stands in `file`."""
    end = time.monotonic() + 60
    while not (file.is_file() and text in file.read_text(encoding="utf-8")):
        assert time.monotonic() < end, f"no {text} in {file}"
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_and_tells_by_its_code(
    blueprint: Path,
    tmp_path: Path,
    transom: Callable[..., subprocess.Popen[str]],
    number: signal.Signals,
    code: int,
) -> None:
    out = tmp_path / "out"
    with transom("train", str(blueprint), "--out", str(out)) as process:
        wait_for(out / "log.jsonl", '"progress"')
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=60)

    assert (process.returncode, stdout) == (code, ""), stderr
    assert "Traceback" not in stderr
    assert len(list((out / "checkpoints").iterdir())) == 1
    assert run_command(["train", "--resume", "--out", str(out), "--set", "training.steps=1"]) == 0


@pytest.fixture
def transom() -> Callable[..., subprocess.Popen[str]]:
    """Start a command in a process of its own."""

    def start(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "cli.main", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def test_a_missing_section_is_named_with_the_file(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "bp.yaml"
    file.write_text("transom: 1\nmodel: {}\ndata: {builtin: dates}\n")

    assert run_command(["train", str(file), "--out", str(tmp_path / "run")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        [str(file), "tokenizer"],
        [str(file), "training"],
    ]
    assert not (tmp_path / "run").exists()
