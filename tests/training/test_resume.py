from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.errors import BlueprintError, DataError, RunError
from builder.run import Run
from builder.training import checkpoint, loop
from builder.training.folder import locked
from builder.training.train import train
from builder.training.validation import Measured

Load = Callable[..., Blueprint]
Content = Callable[[Path], dict[str, Any]]
Read = Callable[[Path], list[dict[str, Any]]]


def damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_log_goes_on_where_the_checkpoint_was(load: Load, tmp_path: Path, log_of: Read) -> None:
    run = train(load("training.steps=10"), tmp_path / "run")
    with (run / "log.jsonl").open("a") as file:
        file.write('{"event": "progress", "step": 17}\n{"event": "progr')

    train(load(), run, resume=True)

    steps = [(entry["event"], entry["step"]) for entry in log_of(run)]
    assert ("progress", 17) not in steps
    assert steps == sorted(steps, key=lambda entry: entry[1])
    assert [step for event, step in steps if event == "environment"] == [0, 10]


def test_minutes_count_over_all_resumes(load: Load, tmp_path: Path, log_of: Read) -> None:
    run = train(load("training.steps=10"), tmp_path / "run")
    spent = next(entry for entry in log_of(run) if entry["event"] == "progress")["elapsed_s"]
    limit = f"training.minutes={spent / 60}"

    train(load("training.steps=null", limit), run, resume=True)

    assert log_of(run)[-1]["step"] == 10


def test_a_finished_run_says_that_nothing_is_to_do(
    load: Load, tmp_path: Path, new_watch: Callable[..., Any]
) -> None:
    run = train(load("training.checkpoint.average=2"), tmp_path / "run")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    watch = new_watch()

    train(load("training.checkpoint.average=2"), run, resume=True, watch=watch)

    assert [note for note in watch.notes if "nothing" in note] == watch.notes
    assert not watch.starts
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_best_weights_stay_when_nothing_improves(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    load: Load, tmp_path: Path, new_watch: Callable[..., Any], name: str, content: Content
) -> None:
    straight = train(load(), tmp_path / "straight")
    run = train(load(), tmp_path / "run")
    damaged(run / "checkpoints" / "step-20" / name)
    watch = new_watch()

    train(load(), run, resume=True, watch=watch)

    assert "step-20" in watch.notes[0]
    assert (run / "checkpoints" / "damaged-step-20").is_dir()
    shutil.rmtree(run / "checkpoints" / "damaged-step-20")
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
    load: Load,
    tmp_path: Path,
    new_watch: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    content: Content,
) -> None:
    straight = train(load(), tmp_path / "straight")

    def fail(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(checkpoint, "save_weights", fail)
    with pytest.raises(OSError, match="disk full"):
        train(load(), tmp_path / "run")
    monkeypatch.undo()
    assert not list((tmp_path / "run" / "checkpoints").iterdir())
    watch = new_watch()

    run = train(load(), tmp_path / "run", resume=True, watch=watch)

    assert content(run) == content(straight)
    assert "starting over" in watch.notes[0]


@pytest.mark.parametrize("log_too", [False, True])
def test_checkpoints_that_are_gone_are_not_passed_over(
    load: Load, tmp_path: Path, *, log_too: bool
) -> None:
    run = train(load("training.steps=10"), tmp_path / "run")
    shutil.rmtree(run / "checkpoints")
    if log_too:
        (run / "log.jsonl").unlink()
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}

    with pytest.raises(RunError, match="--overwrite"):
        train(load(), run, resume=True)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_tokenizer_of_another_size_is_refused(load: Load, tmp_path: Path) -> None:
    run = train(load("training.steps=5"), tmp_path / "run")
    other = train(load("tokenizer=word", "training.steps=5"), tmp_path / "other")
    shutil.copy(other / "tokenizer.json", run)

    with pytest.raises(BlueprintError, match=r"model\.vocab_size\.source"):
        train(load(), run, resume=True)


def test_other_outputs_are_another_experiment_where_they_decide(load: Load, tmp_path: Path) -> None:
    metric, generation = "training.validate.metric=char_error", "generation.max_length.plus=9"
    run = train(load("training.steps=5", metric), tmp_path / "run")

    with pytest.raises(RunError, match=r"generation\.max_length\.plus: 50"):
        train(load(metric, generation), run, resume=True)


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


def test_takes_what_changes_no_number_before(load: Load, tmp_path: Path, content: Content) -> None:
    straight = train(load(), tmp_path / "straight")
    run = train(load("training.steps=10"), tmp_path / "run")
    free = ("generation.max_length.plus=9", "name=other", "training.validate.every=20")

    train(load(*free), run, resume=True)

    for each in (run, straight):
        assert (each / "checkpoints" / "step-20" / "best.safetensors").is_file()
    ours, theirs = (
        {name: value for name, value in content(each).items() if "step-20/optim" in name}
        for each in (run, straight)
    )
    assert ours == theirs
    assert Run.open(run).name == "other"


def test_takes_moved_data_and_refuses_other_data(
    load: Load, tmp_path: Path, content: Content
) -> None:
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


@pytest.mark.parametrize(
    "line",
    ['{"event": "note", "step": "3\\u001b"}', '{"step": null}', '{"step": 1.5}', "[" * 100_000],
)
def test_a_log_that_no_training_wrote_is_refused(load: Load, tmp_path: Path, line: str) -> None:
    run = train(load("training.steps=10"), tmp_path / "run")
    with (run / "log.jsonl").open("a") as file:
        file.write(f"{line}\n")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}

    with pytest.raises(RunError, match=r"log\.jsonl: ") as caught:
        train(load(), run, resume=True)

    assert str(caught.value).isprintable()
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_place_beyond_the_epoch_is_refused(load: Load, tmp_path: Path) -> None:
    run = train(load("training.steps=10"), tmp_path / "run")
    path = run / "checkpoints" / "step-10"
    numbers = json.loads((path / "state.json").read_text())
    (path / "state.json").write_text(json.dumps(numbers | {"epoch": 0, "position": 10}))
    (path / "sha256sums.txt").write_text(checkpoint._sums(path))
    few = f"data.train.path={tmp_path / 'task' / 'train.tsv'}"

    with pytest.raises(RunError, match=rf"{run}: update 10 .*10 updates"):
        train(load(few), run, resume=True)


def test_a_value_that_is_not_given_has_no_name_of_python(load: Load, tmp_path: Path) -> None:
    run = train(load("training.steps=5"), tmp_path / "run")

    with pytest.raises(RunError, match=r"training\.clip: nothing in the run, 1\.0 now"):
        train(load("training.clip=1.0"), run, resume=True)


def test_a_run_reached_by_a_detour_leaves_no_folder_on_the_way(load: Load, tmp_path: Path) -> None:
    run = train(load("training.steps=1"), tmp_path / "new" / ".." / "run")

    assert run == (tmp_path / "run").resolve()
    assert not (tmp_path / "new").exists()
    Run.open(run).load_model()
