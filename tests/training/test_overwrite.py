"""What may be replaced by a new run, and what a kill on the way leaves."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.errors import DataError, RunError
from builder.run import Run
from builder.training.folder import MARK
from builder.training.loop import Loop
from builder.training.train import train

Load = Callable[..., Blueprint]


def test_refuses_places_that_cannot_hold_a_run(load: Load, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine")

    for name in ("file", "file/run", "full"):
        with pytest.raises(RunError, match=name):
            train(load(), tmp_path / name)
        with pytest.raises(RunError, match=name):
            train(load(), tmp_path / name, overwrite=True)
    assert (tmp_path / "file").read_text() == "mine"
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["letter.txt"]


def test_overwrite_removes_only_what_the_run_owns(load: Load, tmp_path: Path) -> None:
    run = train(load("training.steps=10"), tmp_path / "run")
    (run / "letter.txt").write_text("mine")
    (run / "backwards.onnx").write_text("old package")
    before = (run / "weights.safetensors").read_bytes()

    with pytest.raises(RunError, match="run"):
        train(load("training.seed=2"), run)
    assert (run / "weights.safetensors").read_bytes() == before

    train(load("training.steps=5", "training.seed=2"), run, overwrite=True)

    assert (run / "letter.txt").read_text() == "mine"
    assert not (run / "backwards.onnx").exists()
    assert (run / "weights.safetensors").read_bytes() != before
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["step-5"]


def test_overwrite_removes_nothing_before_all_checks(load: Load, tmp_path: Path) -> None:
    run = train(load("training.steps=5"), tmp_path / "run")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    (tmp_path / "task" / "valid.tsv").write_text("")

    with pytest.raises(DataError):
        train(load(), run, overwrite=True)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_folder_of_the_users_own_is_no_run(load: Load, tmp_path: Path) -> None:
    """Not even one with a blueprint and with files of the names that a run has."""
    task = tmp_path / "task"
    shutil.copy(task / "backwards.yaml", task / "blueprint.yaml")

    for name in ("log.jsonl", "weights.safetensors", "tokenizer.json", "proof.jsonl"):
        (task / name).write_text("mine")
        before = {path: path.read_bytes() for path in task.iterdir()}
        for overwrite in (False, True):
            with pytest.raises(RunError, match="holds no run"):
                train(load(), task, overwrite=overwrite)
        assert {path: path.read_bytes() for path in task.iterdir()} == before


def test_a_run_is_replaced_by_its_own_blueprint(load: Load, tmp_path: Path) -> None:
    run = train(load("training.steps=5"), tmp_path / "run")
    before = (run / "weights.safetensors").read_bytes()

    train(Run.open(run).blueprint, run, overwrite=True)

    assert (run / "weights.safetensors").read_bytes() == before


class Killed(BaseException):
    """Nothing that comes after it happens."""


@contextmanager
def killed_after(steps: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let only the first `steps` changes to files happen, as a kill would."""
    left = iter(range(steps))

    def or_die(change: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            if next(left, None) is None:
                raise Killed
            return change(*arguments, **options)

        return wrapped

    with monkeypatch.context() as patch:
        for name in ("unlink", "replace", "rename", "touch", "write_bytes", "write_text", "mkdir"):
            patch.setattr(Path, name, or_die(getattr(Path, name)))
        patch.setattr(shutil, "rmtree", or_die(shutil.rmtree))
        yield


def test_killed_while_it_overwrites_it_resumes_or_is_overwritten_again(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = load("training.steps=5", "tokenizer=word")
    old = train(load("training.steps=5"), tmp_path / "old")
    (old / "backwards.onnx").write_text("old package")
    (old / "letter.txt").write_text("mine")
    expected = train(new, tmp_path / "expected")
    seen = set()

    for steps in itertools.count():
        run = Path(shutil.copytree(old, tmp_path / f"run-{steps}"))
        try:
            with killed_after(steps, monkeypatch), monkeypatch.context() as patch:
                patch.setattr(Loop, "run", lambda *_: None)
                train(new, run, overwrite=True)
            break
        except Killed:
            pass
        seen.add(state := recovered(load("training.steps=5"), new, run))
        same = (run / "weights.safetensors").read_bytes()
        trained = old if state == "old" else expected
        assert same == (trained / "weights.safetensors").read_bytes()
        assert (run / "backwards.onnx").exists() is (state == "old")
        assert (run / "letter.txt").read_text() == "mine"
        assert not (run / MARK).exists()

    assert seen == {"old", "begun", "new"}


def recovered(old: Blueprint, new: Blueprint, run: Path) -> str:
    """Bring a run back that was killed while `new` was to replace `old`; say what it was."""
    if not (run / "blueprint.yaml").exists():
        for again in ({"resume": True}, {}):
            with pytest.raises(RunError, match="--overwrite"):
                train(new, run, **again)
        train(new, run, overwrite=True)
        return "begun"
    is_old = Run.open(run).blueprint.tokenizer == old.tokenizer
    train(old if is_old else new, run, resume=True)
    return "old" if is_old else "new"


def test_killed_in_an_empty_folder_it_is_overwritten(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    for steps in range(1, 6):
        run.mkdir()
        with pytest.raises(Killed), killed_after(steps, monkeypatch):
            train(load("training.steps=1"), run)
        train(load("training.steps=1"), run, overwrite=True)
        Run.open(run).load_model()
        shutil.rmtree(run)
