from __future__ import annotations

import json
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
from builder.errors import DataError, RunError
from builder.run import Run
from builder.training import checkpoint
from builder.training.checkpoint import damage
from builder.training.folder import locked
from builder.training.train import train

Load = Callable[..., Blueprint]

EXACT = (
    "checkpoints/step-20/weights.safetensors",
    "checkpoints/step-20/optimizer.safetensors",
    "checkpoints/step-20/generators.safetensors",
    "weights.safetensors",
)


def content(run: Path) -> list[bytes]:
    return [(run / name).read_bytes() for name in EXACT]


def log_of(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]


def damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_equal_bit_by_bit_to_a_training_without_a_stop(
    load: Load, tmp_path: Path, new_watch: Callable[..., Any]
) -> None:
    straight, again, parted = (new_watch() for _ in range(3))
    one = train(load(), tmp_path / "one", watch=straight)
    two = train(load(), tmp_path / "two", watch=again)
    three = train(load("training.steps=10"), tmp_path / "three", watch=parted)
    assert parted.updates[-1].epoch % 1 != 0  # in the middle of an epoch
    train(load(), three, resume=True, watch=parted)
    other = train(load("training.seed=2"), tmp_path / "other")

    assert content(two) == content(one)
    assert content(three) == content(one)
    assert content(other) != content(one)
    assert [update.rate for update in parted.updates] == [u.rate for u in straight.updates]
    assert [u.step for u in parted.updates] == [u.step for u in straight.updates]
    assert parted.validations == straight.validations
    assert parted.updates[-1].elapsed_s > parted.updates[9].elapsed_s


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_resume_is_exact(
    load: Load, tmp_path: Path, new_watch: Callable[..., Any], number: int
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
    load: Load, tmp_path: Path, new_watch: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from builder.training import loop

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
    assert content(run) == content(straight)


def test_log_goes_on_where_the_checkpoint_was(load: Load, tmp_path: Path) -> None:
    run = train(load("training.steps=10"), tmp_path / "run")
    with (run / "log.jsonl").open("a") as file:
        file.write('{"event": "progress", "step": 17}\n{"event": "progr')

    train(load(), run, resume=True)

    steps = [(entry["event"], entry["step"]) for entry in log_of(run)]
    assert ("progress", 17) not in steps
    assert steps == sorted(steps, key=lambda entry: entry[1])
    assert [step for event, step in steps if event == "environment"] == [0, 10]


def test_minutes_count_over_all_resumes(load: Load, tmp_path: Path) -> None:
    run = train(load("training.steps=10"), tmp_path / "run")
    spent = log_of(run)[-2]["elapsed_s"]
    limit = f"training.minutes={spent / 60}"

    train(load("training.steps=null", limit), run, resume=True)

    assert log_of(run)[-1]["step"] == 10


def test_a_finished_run_says_that_nothing_is_to_do(
    load: Load, tmp_path: Path, new_watch: Callable[..., Any]
) -> None:
    run = train(load(), tmp_path / "run")
    before = content(run)
    watch = new_watch()

    train(load(), run, resume=True, watch=watch)

    assert watch.notes
    assert not watch.updates
    assert content(run) == before


def test_best_weights_stay_when_nothing_improves(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from builder.training import loop
    from builder.training.validation import Measured

    values = iter([1.0, 2.0, 3.0, 4.0, 5.0])
    monkeypatch.setattr(
        loop, "measure", lambda *_, **__: Measured({"loss": next(values), "perplexity": 1.0}, ())
    )
    run = train(load(), tmp_path / "run")
    best = (run / "weights.safetensors").read_bytes()

    train(load("training.steps=50"), run, resume=True)

    assert (run / "weights.safetensors").read_bytes() == best
    assert (run / "checkpoints" / "step-50").is_dir()


@pytest.mark.parametrize("name", ["weights.safetensors", "state.json", "sha256sums.txt"])
def test_a_damaged_checkpoint_is_passed_over_loudly(
    load: Load, tmp_path: Path, new_watch: Callable[..., Any], name: str
) -> None:
    straight = train(load(), tmp_path / "straight")
    run = train(load(), tmp_path / "run")
    damaged(run / "checkpoints" / "step-20" / name)
    watch = new_watch()

    train(load(), run, resume=True, watch=watch)

    assert "step-20" in watch.notes[0]
    assert watch.starts[0].step == 10
    assert content(run) == content(straight)


def test_no_whole_checkpoint_is_refused(load: Load, tmp_path: Path) -> None:
    run = train(load(), tmp_path / "run")
    for path in (run / "checkpoints").iterdir():
        (path / "optimizer.safetensors").unlink()

    with pytest.raises(RunError, match=r"step-20(.|\n)*step-10"):
        train(load(), run, resume=True)
    assert len(list((run / "checkpoints").iterdir())) == 2


def test_without_a_checkpoint_it_begins_anew(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight = train(load(), tmp_path / "straight")

    def fail(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(checkpoint, "save_weights", fail)
    with pytest.raises(OSError, match="disk full"):
        train(load(), tmp_path / "run")
    monkeypatch.undo()
    assert not list((tmp_path / "run" / "checkpoints").iterdir())

    assert content(train(load(), tmp_path / "run", resume=True)) == content(straight)


def test_refuses_another_experiment_and_lists_the_keys(load: Load, tmp_path: Path) -> None:
    run = train(load("training.steps=5"), tmp_path / "run")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    changed = ("model.d_model=32", "training.seed=9", "training.batch_tokens=70", "tokenizer=word")
    changed += ("training.validate.metric=bleu",)

    with pytest.raises(RunError) as refusal:
        train(load(*changed), run, resume=True)

    for key in (
        "model.d_model: 16",
        "training.seed: 1",
        "training.batch_tokens: 60",
        "training.validate.metric: 'loss'",
    ):
        assert key in str(refusal.value)
    assert "tokenizer.source.kind: 'char'" in str(refusal.value)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_takes_what_changes_no_number_before(load: Load, tmp_path: Path) -> None:
    straight = train(load(), tmp_path / "straight")
    run = train(load("training.steps=10"), tmp_path / "run")
    free = ("generation.max_length.plus=9", "name=other", "training.validate.every=20")

    train(load(*free), run, resume=True)

    assert content(run)[:3] == content(straight)[:3]
    assert Run.open(run).name == "other"


def test_takes_moved_data_and_refuses_other_data(load: Load, tmp_path: Path) -> None:
    straight = train(load(), tmp_path / "straight")
    run = train(load("training.steps=10"), tmp_path / "run")
    moved = tmp_path / "moved.tsv"
    (tmp_path / "task" / "train.tsv").rename(moved)

    with pytest.raises(DataError, match=r"--set data\.train\.path"):
        train(load(), run, resume=True)
    train(load(f"data.train.path={moved}"), run, resume=True)
    assert content(run) == content(straight)

    moved.write_text(moved.read_text() + "ab\tba\n")
    with pytest.raises(RunError, match="pairs"):
        train(load(f"data.train.path={moved}"), run, resume=True)


def test_refuses_a_folder_without_a_run(load: Load, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    for name in ("empty", "missing"):
        with pytest.raises(RunError, match=name):
            train(load(), tmp_path / name, resume=True)


def test_two_trainings_cannot_share_a_folder(load: Load, tmp_path: Path) -> None:
    run = train(load("training.steps=5"), tmp_path / "run")

    with locked(run):
        with pytest.raises(RunError, match="run"):
            train(load(), run, resume=True)
        with pytest.raises(RunError, match="run"):
            train(load(), run, overwrite=True)
    train(load(), run, resume=True)


def test_leftovers_of_a_killed_training_are_cleared(load: Load, tmp_path: Path) -> None:
    run = train(load("training.steps=10"), tmp_path / "run")
    (run / "checkpoints" / ".step-20.99.tmp").mkdir()
    (run / ".weights.safetensors.99.tmp").write_bytes(b"half")

    train(load(), run, resume=True)

    assert not list(run.rglob(".*"))


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
