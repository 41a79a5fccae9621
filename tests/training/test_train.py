from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from builder.blueprint.blueprint import Blueprint
from builder.errors import BlueprintError, DataError, RunError, TrainingFailure
from builder.generate import generate_lines
from builder.run import WEIGHTS, Run
from builder.training import loop
from builder.training.checkpoint import damage
from builder.training.train import train
from builder.training.validation import Measured
from builder.weights import read_tensors, weights_of

Load = Callable[..., Blueprint]
Read = Callable[[Path], list[dict[str, Any]]]


def test_a_run_holds_what_the_design_says(
    load: Load, tmp_path: Path, new_watch: Callable[..., Any], log_of: Read
) -> None:
    watch = new_watch()

    run = train(load(), tmp_path / "run", watch=watch)

    assert {path.name for path in run.iterdir()} == {
        "blueprint.yaml",
        "tokenizer.json",
        "weights.safetensors",
        "proof.jsonl",
        "checkpoints",
        "log.jsonl",
    }
    assert {path.name for path in (run / "checkpoints").iterdir()} == {"step-10", "step-20"}
    assert [update.step for update in watch.updates] == list(range(1, 21))
    assert [event.step for event in watch.validations] == [10, 20]
    assert [event.step for event in watch.ends] == [20]
    assert watch.starts[0].pairs == 80
    proof = [json.loads(line) for line in (run / "proof.jsonl").read_text().split("\n")[:-1]]
    assert [pair["target"] for pair in proof] == [pair["source"][::-1] for pair in proof]
    events = [entry["event"] for entry in log_of(run)]
    assert events[:4] == ["environment", "data", "validation", "checkpoint"]
    assert events[4:] == ["progress", "validation", "checkpoint", "finished"]
    assert log_of(run)[1]["train"]["pairs"] == 80


def test_a_run_is_complete_without_its_data(load: Load, tmp_path: Path) -> None:
    train(load(), tmp_path / "run")
    for path in (tmp_path / "task").iterdir():
        path.unlink()
    moved = (tmp_path / "run").rename(tmp_path / "elsewhere")

    run = Run.open(moved)
    tokenizers = (run.source_tokenizer, run.target_tokenizer)
    written = generate_lines(
        run.load_model(), tokenizers, ["abc", ""], strategy=run.blueprint.generation
    )

    assert run.blueprint.model.vocab_size is not None
    assert [bool(generation.text) for generation in written] == [True, False]
    texts = [path.read_bytes() for path in moved.rglob("*") if path.is_file()]
    assert not any(str(tmp_path).encode() in text for text in texts)


def test_stored_blueprint_finds_its_data(load: Load, tmp_path: Path) -> None:
    run = Run.open(train(load("training.steps=1"), tmp_path / "deep" / "run"))

    assert run.blueprint.data == load().data


def test_separate_tokenizers_are_two_files(load: Load, tmp_path: Path) -> None:
    overrides = ("tokenizer={source: char, target: word}", "model.embeddings.tie=none")

    run = Run.open(train(load("training.steps=1", *overrides), tmp_path / "run"))

    assert (run.folder / "tokenizer.source.json").is_file()
    assert run.blueprint.model.vocab_size.target == run.target_tokenizer.vocab_size
    assert run.source_tokenizer.vocab_size != run.target_tokenizer.vocab_size


def test_weights_change_with_fewer_pairs_than_fit_a_batch(
    load: Load, tmp_path: Path, new_watch: Callable[..., Any]
) -> None:
    (tmp_path / "task" / "train.tsv").write_text("ab\tba\ncd\tdc\nabc\tcba\n")
    watch = new_watch()

    train(load("training.steps=2"), tmp_path / "run", watch=watch)

    assert [update.epoch for update in watch.updates] == [1.0, 2.0]
    assert watch.updates[0].loss != watch.updates[1].loss


def test_learns(load: Load, tmp_path: Path, new_watch: Callable[..., Any]) -> None:
    watch = new_watch()
    schedule = "training.schedule={kind: constant, learning_rate: 0.005}"

    train(load("training.steps=200", "model.dropout=0", schedule), tmp_path / "run", watch=watch)

    # better than knowing all but which of the five letters comes next
    assert watch.validations[-1].metrics["loss"] < 0.8 * math.log(5)


@pytest.mark.parametrize("section", ["tokenizer", "data", "training"])
def test_a_missing_section_is_named(load: Load, tmp_path: Path, section: str) -> None:
    with pytest.raises(BlueprintError, match=section):
        train(load().model_copy(update={section: None}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_stated_vocabulary_is_the_tokenizers(load: Load, tmp_path: Path) -> None:
    with pytest.raises(BlueprintError, match=r"model\.vocab_size\.source.*\b77\b.*\b9\b"):
        train(load("model.vocab_size=77"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("part", ["train", "valid"])
@pytest.mark.parametrize("text", ["", "\t\n", "abcdefghijklmnop\ta\n", None])
def test_data_that_cannot_serve_is_refused_first(
    load: Load, tmp_path: Path, part: str, text: str | None
) -> None:
    path = tmp_path / "task" / f"{part}.tsv"
    path.unlink()
    if text is not None:
        path.write_text(text)

    with pytest.raises(DataError, match=f"data.{part}") as refusal:
        train(load(), tmp_path / "run")
    assert str(path) in str(refusal.value)
    assert ("0 usable pairs" in str(refusal.value)) is (text is not None)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("patience", "last"), [(1, 6), (2, 8), (3, 10)])
def test_best_weights_are_kept_and_patience_ends(
    load: Load,
    tmp_path: Path,
    new_watch: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    patience: int,
    last: int,
) -> None:
    values = {2: 3.0, 4: 2.0, 6: 2.5, 8: 2.6, 10: 2.7}
    held = {}

    def measure(model: torch.nn.Module, *_: Any, **__: Any) -> Measured:
        step = 2 * len(held) + 2
        held[step] = {name: weight.clone() for name, weight in weights_of(model).items()}
        return Measured({"loss": values[step], "perplexity": 1.0}, ())

    monkeypatch.setattr(loop, "measure", measure)
    watch = new_watch()
    overrides = (f"training.validate={{every: 2, patience: {patience}}}", "training.steps=12")

    run = train(load(*overrides), tmp_path / "run", watch=watch)

    assert watch.ends[0].step == last
    bests = [True, True, False, False, False]
    assert [event.is_best for event in watch.validations] == bests[: last // 2]
    kept = read_tensors(run / "weights.safetensors")
    assert all(torch.equal(kept[name], weight) for name, weight in held[4].items())
    assert (run / "checkpoints" / f"step-{last}").is_dir()


def test_an_end_off_schedule_is_measured_but_does_not_count(
    load: Load,
    tmp_path: Path,
    new_watch: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = iter([2.0, 1.0])
    monkeypatch.setattr(
        loop, "measure", lambda *_, **__: Measured({"loss": next(values), "perplexity": 1.0}, ())
    )
    watch = new_watch()

    run = train(load("training.steps=15"), tmp_path / "run", watch=watch)

    last = run / "checkpoints" / "step-15"
    assert (last / "weights.safetensors").read_bytes() == (run / WEIGHTS).read_bytes()
    state = json.loads((last / "state.json").read_text())
    assert (state["best"], state["validated"], state["waited"]) == (2.0, 10, 0)
    assert [event.is_best for event in watch.validations] == [True, True]
    assert watch.ends[0].best == 1.0


def test_weights_are_there_from_the_first_checkpoint_on(
    load: Load, tmp_path: Path, new_watch: Callable[..., Any]
) -> None:
    run = tmp_path / "run"
    found = {}

    def look(step: int) -> None:
        found[step] = (run / WEIGHTS).is_file() and read_tensors(run / WEIGHTS)

    train(load("training.checkpoint.every=4"), run, watch=new_watch(at=look))

    assert [step for step in found if found[step]] == list(range(5, 21))
    saved = read_tensors(run / "checkpoints" / "step-8" / WEIGHTS)
    assert all(torch.equal(found[9][name], weight) for name, weight in saved.items())


def test_minutes_end_a_training(load: Load, tmp_path: Path, new_watch: Callable[..., Any]) -> None:
    watch = new_watch()

    train(load("training.steps=null", "training.minutes=1e-9"), tmp_path / "run", watch=watch)

    assert watch.ends[0].step == 1
    assert (tmp_path / "run" / "checkpoints" / "step-1").is_dir()


@pytest.mark.parametrize(("value", "kept"), [(1.0, True), (0.5, True), (1.5, False)])
def test_average_is_kept_when_it_is_as_good(
    load: Load,
    tmp_path: Path,
    new_watch: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    value: float,
    *,
    kept: bool,
    log_of: Read,
) -> None:
    values = iter([2.0, 1.0, value])
    monkeypatch.setattr(
        loop, "measure", lambda *_, **__: Measured({"loss": next(values), "perplexity": 9.0}, ())
    )
    watch = new_watch()
    overrides = "training.checkpoint={every: 4, average: 3, keep: 3}"

    run = train(load(overrides), tmp_path / "run", watch=watch)

    names = ["step-20", "step-16", "step-12"]
    whole = [read_tensors(run / "checkpoints" / name / "weights.safetensors") for name in names]
    average = {name: sum(each[name].double() for each in whole) / 3 for name in whole[0]}
    found = read_tensors(run / "weights.safetensors")
    for name, expected in (average if kept else whole[0]).items():
        torch.testing.assert_close(found[name].double(), expected.double(), rtol=1e-6, atol=1e-8)
    entry = next(entry for entry in log_of(run) if entry["event"] == "average")
    assert (entry["checkpoints"], entry["kept"]) == (names, kept)
    assert watch.ends[0].best == (value if kept else 1.0)


def test_a_loss_that_is_no_number_stops_with_its_update(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log_of: Read
) -> None:
    honest = loop.Learner.update

    def update(self: loop.Learner, step: int, *rest: Any) -> Any:
        if step == 7:
            self.model.output.data.fill_(float("nan"))
        return honest(self, step, *rest)

    monkeypatch.setattr(loop.Learner, "update", update)
    overrides = ("training.checkpoint.every=5", "training.validate.every=5")

    with pytest.raises(TrainingFailure, match="update 7"):
        train(load(*overrides), tmp_path / "run")

    run = tmp_path / "run"
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["step-5"]
    assert damage(run / "checkpoints" / "step-5") is None
    assert all(t.isfinite().all() for t in read_tensors(run / "weights.safetensors").values())
    assert log_of(run)[-1]["event"] == "failure"


def test_a_rate_that_is_far_too_high_stops(load: Load, tmp_path: Path) -> None:
    schedule = "training.schedule={kind: constant, learning_rate: 1e6}"

    with pytest.raises(TrainingFailure, match="update"):
        train(load(schedule), tmp_path / "run")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_refuses_a_read_only_place(load: Load, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)

    with pytest.raises(RunError, match="closed"):
        train(load(), closed / "run")
