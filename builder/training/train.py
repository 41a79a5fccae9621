"""A blueprint and its data into a trained run: the one entry of this room."""

from __future__ import annotations

from pathlib import Path

import torch

from builder import atomic
from builder.blueprint.blueprint import Blueprint
from builder.blueprint.training import Training
from builder.errors import RunError
from builder.run import BLUEPRINT, Run
from builder.training.agreement import continued, needed, with_vocabulary
from builder.training.checkpoint import Checkpoints
from builder.training.corpus import Corpus, describe, read_corpus
from builder.training.ending import end
from builder.training.folder import blueprint_text, check_free, first_files, locked, new_run
from builder.training.learner import Learner
from builder.training.log import Log, environment
from builder.training.loop import Loop
from builder.training.state import State
from builder.training.threads import physical_cores
from builder.training.watch import QuietWatch, Watch


def train(
    blueprint: Blueprint,
    out: Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    watch: Watch | None = None,
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
    watch = watch or QuietWatch()
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
        log = Log(out)
        _introduce(log, watch, State(), corpus, training)
        loop = Loop(
            out,
            learner,
            corpus,
            strategy=blueprint.generation,
            state=State(),
            checkpoints=Checkpoints(out, corpus.digest),
            log=log,
            watch=watch,
        )
        loop.run(blueprint.name)


def _go_on(blueprint: Blueprint, out: Path, watch: Watch) -> None:
    Run.open(out)  # refuses a folder that holds none
    with locked(out):
        run = Run.open(out)
        blueprint = continued(run.blueprint, blueprint)
        _, data, training = needed(blueprint)
        tokenizers = (run.source_tokenizer, run.target_tokenizer)
        corpus = read_corpus(data, tokenizers, measured=training.validate_.pairs)
        torch.set_num_threads(_threads(training))
        learner = Learner(blueprint.model, training)
        checkpoints = Checkpoints(out, corpus.digest)
        state, problems = checkpoints.restore(learner.model, learner.optimizer)
        checkpoints.clear_drafts()
        atomic.write_text(out / BLUEPRINT, blueprint_text(blueprint, out))
        log = Log(out)
        log.rewind(state.step)
        nothing = end(state, training)
        for text in [*problems, *([f"nothing to do: {nothing}"] if nothing else [])]:
            log.write("note", step=state.step, text=text)
            watch.note(text)
        _introduce(log, watch, state, corpus, training)
        loop = Loop(
            out,
            learner,
            corpus,
            strategy=blueprint.generation,
            state=state,
            checkpoints=checkpoints,
            log=log,
            watch=watch,
        )
        loop.run(blueprint.name)


def _introduce(log: Log, watch: Watch, state: State, corpus: Corpus, training: Training) -> None:
    """Say what the numbers after it depend on."""
    facts = environment(threads=torch.get_num_threads(), seed=training.seed)
    log.write("environment", step=state.step, **facts)
    log.write("data", step=state.step, **corpus.report)
    for part in ("train", "valid"):
        watch.note(describe(part, corpus.report[part]))


def _threads(training: Training) -> int:
    return physical_cores() if training.threads == "auto" else training.threads
