"""A blueprint and its data into a trained run: the one entry of this room."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from builder import atomic
from builder.blueprint.blueprint import Blueprint
from builder.blueprint.training import Training
from builder.errors import RunError, printable
from builder.run import BLUEPRINT, LOG, WEIGHTS, Run, settled
from builder.training.agreement import continued, needed, with_vocabulary
from builder.training.checkpoint import Checkpoints
from builder.training.corpus import Corpus, describe, read_corpus
from builder.training.ending import end
from builder.training.folder import (
    blueprint_text,
    check_begun,
    check_free,
    clear_leftovers,
    first_files,
    locked,
    new_run,
)
from builder.training.learner import Learner
from builder.training.log import CHECKPOINT, FINISHED, Log, environment
from builder.training.loop import Loop
from builder.training.state import State
from builder.training.threads import physical_cores
from builder.training.watch import Note, Watch


def train(
    blueprint: Blueprint,
    out: Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    watch: Watch = lambda _: None,
) -> Path:
    """Train `blueprint` in the run folder `out`, and return it.

    A new run appears only when all checks have passed. `resume` goes on with the run that is
    there, to the same numbers bit by bit as without the stop, given one thread and the same
    machine; `overwrite` replaces it.

    Raises:
        BlueprintError: A section that training needs is missing, or vocabulary sizes clash.
        DataError: Files are missing or unreadable, or hold no usable pair.
        TokenizerError: The text allows no such tokenizer.
        RunError: The folder is occupied or in use, or does not fit what is to be resumed.
        TrainingFailure: A number is no longer finite; what was saved before it is kept.
        KeyboardInterrupt: Ctrl-C; the update in progress was finished and saved.
        SystemExit: SIGTERM, likewise, with the code 143.
    """
    if resume and overwrite:
        raise RunError("resume and overwrite exclude each other")
    needed(blueprint)
    out = settled(out)
    if resume:
        _go_on(blueprint, out, watch)
    else:
        _begin(blueprint, out, watch, overwrite=overwrite)
    return out


def _begin(blueprint: Blueprint, out: Path, watch: Watch, *, overwrite: bool) -> None:
    check_free(out, overwrite=overwrite)
    tokenizer, data, training = needed(blueprint)
    corpus = read_corpus(data, tokenizer, measured=training.validate_.pairs)
    blueprint = with_vocabulary(blueprint, corpus.tokenizers)
    torch.set_num_threads(_threads(training))
    learner = Learner(blueprint.model, training)
    with new_run(out, first_files(blueprint, corpus, out), overwrite=overwrite):
        _run(blueprint, out, watch, learner=learner, corpus=corpus, state=State())


def _go_on(blueprint: Blueprint, out: Path, watch: Watch) -> None:
    check_begun(out)
    Run.open(out)  # refuses a folder that holds none
    with locked(out):
        run = Run.open(out)
        blueprint = continued(run.blueprint, blueprint)
        _, data, training = needed(blueprint)
        tokenizers = (run.source_tokenizer, run.target_tokenizer)
        blueprint = with_vocabulary(blueprint, tokenizers)
        corpus = read_corpus(data, tokenizers, measured=training.validate_.pairs)
        torch.set_num_threads(_threads(training))
        learner = Learner(blueprint.model, training)
        checkpoints = Checkpoints(out, corpus.digest)
        state, notes = _restore(out, checkpoints, learner)
        text = blueprint_text(blueprint, out)
        if reason := _finished(out, state, training, text):
            watch(Note(f"nothing to do: {reason}"))
            return
        clear_leftovers(out)
        checkpoints.restore_best(state)
        atomic.write_text(out / BLUEPRINT, text)
        Log(out).rewind(state.step)
        _run(blueprint, out, watch, learner=learner, corpus=corpus, state=state, notes=notes)


def _restore(out: Path, checkpoints: Checkpoints, learner: Learner) -> tuple[State, list[str]]:
    """Load the newest checkpoint; of a run that had none, what it began with."""
    if checkpoints.newest_first():
        return checkpoints.restore(learner.model, learner.optimizer)
    entries = _entries(out)
    saved = any(entry.get("event") in (CHECKPOINT, FINISHED) for entry in entries)
    if saved or (not entries and (out / WEIGHTS).exists()):
        raise RunError(
            f"{printable(out.absolute())}: its checkpoints are gone, so it cannot go on; "
            "`--overwrite` trains it anew"
        )
    return State(), ["the run was ended before its first checkpoint: starting over"]


def _finished(out: Path, state: State, training: Training, text: str) -> str | None:
    """Say why the run in `out` has nothing left to do, None if it has.

    With other words in its blueprint, `text`, even a finished run makes its last steps again.
    """
    last = _entries(out)[-1:]
    done = [entry.get("step") for entry in last if entry.get("event") == FINISHED] == [state.step]
    same = (out / BLUEPRINT).read_text(encoding="utf-8") == text
    return end(state, training) if done and same and (out / WEIGHTS).exists() else None


def _entries(out: Path) -> list[dict[str, Any]]:
    """Read the log of the run in `out`.

    Raises:
        RunError: The update after which a line was written is none.
    """
    place = printable((out / LOG).absolute())
    try:
        entries = Log(out).entries()
    except RecursionError:
        raise RunError(f"{place}: damaged: too deep for a log") from None
    for entry in entries:
        if type(step := entry.get("step", 0)) is not int:
            raise RunError(f"{place}: damaged: `step` is {printable(repr(step))}, not a number")
    return entries


def _run(
    blueprint: Blueprint,
    out: Path,
    watch: Watch,
    *,
    learner: Learner,
    corpus: Corpus,
    state: State,
    notes: Sequence[str] = (),
) -> None:
    """Say what the numbers to come depend on, and train from `state` to the end."""
    log = Log(out)
    for text in notes:
        log.write("note", step=state.step, text=text)
        watch(Note(text))
    facts = environment(threads=torch.get_num_threads(), seed=learner.training.seed)
    log.write("environment", step=state.step, **facts)
    log.write("data", step=state.step, **corpus.report)
    for part in ("train", "valid"):
        watch(Note(describe(part, corpus.report[part])))
    strategy = blueprint.generation
    loop = Loop(out, learner, corpus, strategy=strategy, state=state, watch=watch)
    loop.run(blueprint.name)


def _threads(training: Training) -> int:
    return physical_cores() if training.threads == "auto" else training.threads
