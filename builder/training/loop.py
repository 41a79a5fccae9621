"""Updates until a limit is reached, with validations and checkpoints between them."""

from __future__ import annotations

import math
import time
from pathlib import Path

import torch

from builder.blueprint.generation import Strategy
from builder.data.batches import Indices, plan_batches
from builder.errors import RunError, TrainingFailure, printable
from builder.run import WEIGHTS
from builder.training import ending
from builder.training.average import average_weights, set_weights
from builder.training.checkpoint import Checkpoints, damage
from builder.training.corpus import Corpus
from builder.training.interruption import Interrupted, Interruption
from builder.training.learner import Learner, Update
from builder.training.log import CHECKPOINT, FINISHED, Log
from builder.training.meter import Meter
from builder.training.state import State
from builder.training.validation import Measured, is_better, measure
from builder.training.watch import Finished, Note, Progress, Started, Validated, Watch
from builder.weights import save_weights, weights_of

LOG_EVERY = 50
"""Updates between two lines of progress in the log."""


class Loop:
    """One training in one run folder, from a state to its end."""

    def __init__(
        self,
        folder: Path,
        learner: Learner,
        corpus: Corpus,
        *,
        strategy: Strategy,
        state: State,
        watch: Watch,
    ) -> None:
        self._folder = folder
        self._learner = learner
        self._training = learner.training
        self._corpus = corpus
        self._strategy = strategy
        self._state = state
        self._checkpoints = Checkpoints(folder, corpus.digest)
        self._log = Log(folder)
        self._watch = watch
        self._saved = state.step
        self._interruption = Interruption()
        self._meter = Meter()
        self._plan = self._batches()
        if state.position > len(self._plan):
            raise RunError(
                f"{printable(folder.absolute())}: update {state.step} cannot be gone on from: "
                f"{state.position} updates into an epoch of {len(self._plan)}"
            )
        self._begun = time.perf_counter() - state.elapsed_s

    def run(self, name: str) -> None:
        """Train to the end.

        Raises:
            TrainingFailure: A number is no longer finite.
            KeyboardInterrupt: Ctrl-C; what was learned is saved.
            SystemExit: SIGTERM, likewise, with the code 143.
        """
        self._watch(self._start(name))
        with self._interruption.watching():
            try:
                reason = self._make_updates()
                best = self._conclude()
                self._interruption.check()
            except Interrupted:
                self._say(f"update {self._state.step} is saved; `--resume` goes on from there")
                raise
            except TrainingFailure as failure:
                self._log.write("failure", step=self._state.step, text=str(failure))
                raise
        self._finish(reason, best)

    def _make_updates(self) -> str:
        """Update until a limit is reached, and return which; what was learned is saved."""
        try:
            while (reason := self._between_updates()) is None:
                self._update()
        except Interrupted:
            if self._saved != self._state.step:
                self._save()
            raise
        return reason

    def _between_updates(self) -> str | None:
        """Do what is due after the last update; return why it was the last one, if it was."""
        state, training = self._state, self._training
        self._interruption.check()
        due = state.step % training.validate_.every == 0
        if due and state.validated != state.step:
            self._validate_on_schedule()
        reason = ending.end(state, training)
        due = state.step % training.checkpoint.every == 0
        if (due or reason is not None) and self._saved != state.step:
            self._save()
        return reason

    def _update(self) -> None:
        state = self._state
        if state.position == len(self._plan):
            state.epoch, state.position = state.epoch + 1, 0
            self._plan = self._batches()
        before = time.perf_counter()
        indices = self._plan[state.position]
        update = self._learner.update(state.step + 1, self._corpus.train, indices)
        now = time.perf_counter()
        state.step, state.position = state.step + 1, state.position + 1
        state.elapsed_s = now - self._begun
        self._meter.add(update, now - before)
        self._report(update)

    def _report(self, update: Update) -> None:
        state, meter = self._state, self._meter
        done = ending.done(state, self._training)
        progress = Progress(
            step=state.step,
            epoch=state.epoch + state.position / len(self._plan),
            loss=meter.loss,
            rate=update.rate,
            tokens_per_second=meter.tokens_per_second,
            padding=meter.padding,
            elapsed_s=state.elapsed_s,
            done=done,
            seconds_left=state.elapsed_s * (1 - done) / done if done else None,
        )
        self._watch(progress)
        if state.step % LOG_EVERY == 0 or done == 1.0:
            self._log.write(
                "progress",
                step=state.step,
                epoch=progress.epoch,
                loss=meter.loss,
                rate=update.rate,
                gradient_norm=update.gradient_norm,
                tokens_per_second=meter.tokens_per_second,
                padding=meter.padding,
                elapsed_s=state.elapsed_s,
            )
            self._meter = Meter()

    def _validate_on_schedule(self) -> None:
        """Validate, and let it count towards the best weights and the patience."""
        state = self._state
        value, better = self._validate(state.best)
        if better:
            state.best, state.waited = value, 0
        else:
            state.waited += 1
        state.validated = state.step

    def _validate(self, than: float | None) -> tuple[float, bool]:
        """Measure the weights, and keep them if their value is better `than` that."""
        state, metric = self._state, self._training.validate_.metric
        measured = self._measure()
        value = measured.metrics[metric]
        better = is_better(value, than, metric)
        if better:
            self._keep_weights()
        state.elapsed_s = time.perf_counter() - self._begun
        self._log.write(
            "validation",
            step=state.step,
            **measured.metrics,
            best=better,
            samples=[vars(sample) for sample in measured.samples],
            elapsed_s=state.elapsed_s,
        )
        self._watch(Validated(state.step, measured.metrics, metric, better, measured.samples))
        return value, better

    def _measure(self) -> Measured:
        """Measure the weights as they are; a signal may end this anywhere."""
        with self._interruption.anywhere():
            measured = measure(
                self._learner.model,
                self._corpus,
                metric=self._training.validate_.metric,
                strategy=self._strategy,
                turn=self._state.step // self._training.validate_.every,
            )
        if not math.isfinite(measured.metrics["loss"]):
            raise TrainingFailure(
                f"update {self._state.step}: the validation loss is not finite; "
                "try a lower rate or `factor`, a longer `warmup`, or `clip`"
            )
        return measured

    def _save(self) -> None:
        self._checkpoints.save(self._state, self._learner.model, self._learner.optimizer)
        self._log.write(CHECKPOINT, step=self._state.step)
        checkpoint = self._training.checkpoint
        self._checkpoints.prune(checkpoint.keep, every=checkpoint.every)
        self._saved = self._state.step
        if self._state.best is None:
            self._keep_weights()

    def _keep_weights(self) -> None:
        """Make the weights, as they are, those of the run."""
        save_weights(weights_of(self._learner.model), self._folder / WEIGHTS)

    def _conclude(self) -> float:
        """Leave the best weights in the run: of a validation, the last, or the average.

        Nothing of this goes into a checkpoint, so a resume finds the same as without the end.
        """
        best = self._state.best
        if best is None or self._state.validated != self._state.step:
            value, better = self._validate(best)
            best = value if best is None or better else best
        return self._average(best)

    def _average(self, best: float) -> float:
        """Average the newest checkpoints; keep that if it is at least as good as the best."""
        whole = [path for path in self._checkpoints.newest_first() if damage(path) is None]
        paths = whole[: self._training.checkpoint.average]
        if len(paths) < 2:
            return best
        step, metric = self._state.step, self._training.validate_.metric
        set_weights(self._learner.model, average_weights(paths))
        measured = self._measure()
        value = measured.metrics[metric]
        kept = not is_better(best, value, metric)
        if kept:
            self._keep_weights()
        names = [path.name for path in paths]
        self._log.write("average", step=step, checkpoints=names, **measured.metrics, kept=kept)
        verdict = "kept" if kept else f"not kept: {best:.6g} is better"
        text = f"average of {len(paths)} checkpoints: {metric} {value:.6g}, {verdict}"
        self._watch(Note(text))
        return value if kept else best

    def _finish(self, reason: str, best: float) -> None:
        state, metric = self._state, self._training.validate_.metric
        self._log.write(FINISHED, step=state.step, reason=reason, metric=metric, best=best)
        self._watch(Finished(state.step, reason, metric, best, state.elapsed_s))

    def _start(self, name: str) -> Started:
        parameters = weights_of(self._learner.model).values()
        return Started(
            name=name,
            folder=self._folder,
            parameters=sum(parameter.numel() for parameter in parameters),
            pairs=len(self._corpus.train),
            validation_pairs=len(self._corpus.valid),
            batches=len(self._plan),
            step=self._state.step,
            steps=self._training.steps,
            minutes=self._training.minutes,
            threads=torch.get_num_threads(),
        )

    def _say(self, text: str) -> None:
        self._log.write("note", step=self._state.step, text=text)
        self._watch(Note(text))

    def _batches(self) -> list[Indices]:
        store = self._corpus.train
        return plan_batches(
            store.source.lengths,
            store.target.lengths,
            batch_tokens=self._training.batch_tokens,
            seed=self._training.seed,
            epoch=self._state.epoch,
        )
