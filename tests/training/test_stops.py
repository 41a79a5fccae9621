from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.run import Run
from builder.training import loop
from builder.training.checkpoint import damage
from builder.training.train import train

Load = Callable[..., Blueprint]
Content = Callable[[Path], dict[str, Any]]
Read = Callable[[Path], list[dict[str, Any]]]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_resume_is_exact(
    load: Load, tmp_path: Path, new_watch: Callable[..., Any], number: int, content: Content
) -> None:
    handlers = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    straight = train(load("training.checkpoint.average=2"), tmp_path / "straight")

    def interrupt(step: int) -> None:
        if step == 7:
            os.kill(os.getpid(), number)

    watch = new_watch(at=interrupt)
    with pytest.raises((KeyboardInterrupt, SystemExit)) as stop:
        train(load("training.checkpoint.average=2"), tmp_path / "run", watch=watch)

    assert getattr(stop.value, "code", 130) == (143 if number == signal.SIGTERM else 130)
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == handlers
    assert watch.updates[-1].step == 7
    run = tmp_path / "run"
    assert damage(run / "checkpoints" / "step-7") is None
    assert (run / "weights.safetensors").is_file()

    train(load("training.checkpoint.average=2"), run, resume=True)
    assert content(run) == content(straight)
    assert not (run / "checkpoints" / "step-7").exists()


def test_a_signal_during_a_validation_leaves_it_to_the_resume(
    load: Load,
    tmp_path: Path,
    new_watch: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    content: Content,
) -> None:
    straight = train(load(), tmp_path / "straight")
    honest = loop.measure

    def measure(*arguments: Any, **options: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return honest(*arguments, **options)

    monkeypatch.setattr(loop, "measure", measure)
    with pytest.raises(KeyboardInterrupt):
        train(load(), tmp_path / "run")
    monkeypatch.setattr(loop, "measure", honest)
    watch = new_watch()

    run = train(load(), tmp_path / "run", resume=True, watch=watch)

    assert [event.step for event in watch.validations] == [10, 20]
    ours, theirs = content(run), content(straight)
    differing = {name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)}
    # the checkpoint that the signal left is from before the validation, and stays so
    assert differing == {"checkpoints/step-10/state.json", "checkpoints/step-10/best.safetensors"}


@pytest.mark.parametrize("average", [0, 2])
def test_a_signal_during_the_last_save_is_not_lost(
    load: Load,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    average: int,
    log_of: Read,
    content: Content,
) -> None:
    average_of_two = f"training.checkpoint.average={average}"
    straight = train(load(average_of_two), tmp_path / "straight")
    honest = loop.Checkpoints.save

    def save(self: loop.Checkpoints, state: Any, *rest: Any) -> None:
        honest(self, state, *rest)
        if state.step == 20:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(loop.Checkpoints, "save", save)
    with pytest.raises(SystemExit, match="143"):
        train(load(average_of_two), tmp_path / "run")
    monkeypatch.undo()
    run = tmp_path / "run"
    assert log_of(run)[-1]["event"] == "note"
    Run.open(run).load_model()

    train(load(average_of_two), run, resume=True)

    assert log_of(run)[-1]["event"] == "finished"
    assert content(run) == content(straight)


def test_leftovers_of_a_killed_training_are_cleared(load: Load, tmp_path: Path) -> None:
    run = train(load("training.steps=10"), tmp_path / "run")
    (run / "checkpoints" / ".step-20.99.tmp").mkdir()
    (run / ".weights.safetensors.99.tmp").write_bytes(b"half")
    (run / ".blueprint.yaml.99.tmp").write_bytes(b"half")
    of_others = [run / name for name in (".backwards.onnx.99.tmp", ".letter.txt.9.tmp", ".x.tmp")]
    for path in of_others:
        path.write_bytes(b"half")

    train(load(), run, resume=True)

    assert sorted(run.rglob(".*")) == sorted(of_others)


SCRIPT = """
import sys
from pathlib import Path
from builder.blueprint.load import load_blueprint
from builder.training.train import train
overrides = ["training.checkpoint={every: 1, keep: 3}", "training.validate.every=4",
             "training.steps=2000"]
blueprint, out = sys.argv[1:]
train(load_blueprint(blueprint, overrides), Path(out), resume=Path(out).exists())
"""


@pytest.mark.slow
def test_killed_at_any_moment_it_resumes(load: Load, tmp_path: Path) -> None:
    blueprint, run = tmp_path / "task" / "backwards.yaml", tmp_path / "run"
    steps = []
    for _ in range(4):
        command = [sys.executable, "-c", SCRIPT, str(blueprint), str(run)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        folder, before = run / "checkpoints", steps[-1] if steps else 0
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            saved = [int(path.name[5:]) for path in folder.glob("step-*")]
            if saved and max(saved) > before + 5:
                break
            time.sleep(0.001)
        assert process.poll() is None, process.communicate()[1]
        process.kill()
        process.communicate()
        newest = max(folder.glob("step-*"), key=lambda path: int(path.name[5:]))
        assert damage(newest) is None
        steps.append(int(newest.name[5:]))

    assert steps == sorted(set(steps))
