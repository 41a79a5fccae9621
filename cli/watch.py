"""A training as a person sees it, on stderr: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Self, assert_never

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from builder.errors import printable
from builder.wording import counted

if TYPE_CHECKING:
    from builder.training import watch


PLAIN_LINE_EVERY_S = 15.0
"""Seconds of training between two lines of progress where there is no terminal for a bar."""


class StderrWatch(AbstractContextManager["StderrWatch"]):
    """Shows loss, rate, speed and time left while it runs, and samples at every validation."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[state]}"),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("training", total=1.0, state="")
        self._speed = ""
        self._next_line_s = PLAIN_LINE_EVERY_S

    def __enter__(self) -> Self:
        """Start the bar."""
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away, whatever ended the training."""
        self._bar.stop()

    def __call__(self, event: watch.Event) -> None:
        """Show an event."""
        from builder.training import watch

        match event:
            case watch.Started():
                self._started(event)
            case watch.Progress():
                self._progress(event)
            case watch.Validated():
                self._validated(event)
            case watch.Note(text=text):
                self._note(text)
            case watch.Finished():
                self._finished(event)
            case unreachable:
                assert_never(unreachable)

    def _started(self, event: watch.Started) -> None:
        """Say what is trained, where, and until when."""
        limits = [counted(event.steps, "update")] if event.steps else []
        limits += [counted(event.minutes, "minute")] if event.minutes else []
        self._note(
            f"{printable(event.name)}: {counted(event.parameters, 'parameter')}, "
            f"{counted(event.pairs, 'pair')}, {counted(event.batches, 'update')} an epoch, "
            f"up to {' or '.join(limits)}, {counted(event.threads, 'thread')}; "
            f"in {printable(event.folder)}"
        )
        if event.step:
            self._note(f"resumed after update {event.step:,}")

    def _progress(self, event: watch.Progress) -> None:
        """Move the bar, or print a line now and then where there is none."""
        self._speed = (
            f"training loss {event.loss:.4f}, rate {event.rate:.2e}, "
            f"{event.tokens_per_second:,.0f} tokens/s"
        )
        left = "" if event.seconds_left is None else f", {_clock(event.seconds_left)} left"
        place, state = f"{event.step:,} ({event.epoch:.1f} epochs)", self._speed + left
        self._bar.update(self._task, description=place, completed=event.done, state=state)
        if not self._console.is_terminal and event.elapsed_s >= self._next_line_s:
            self._note(f"{place}: {state}")
            self._next_line_s = event.elapsed_s + PLAIN_LINE_EVERY_S

    def _validated(self, event: watch.Validated) -> None:
        """Print the measures and a few samples."""
        measures = ", ".join(f"{name} {value:.4g}" for name, value in event.metrics.items())
        best = "; best so far" if event.is_best else ""
        speed = f" ({self._speed})" if self._speed else ""  # a resumed run may measure first
        self._note(f"{event.step:,}: {measures}{best}{speed}")
        for sample in event.samples:
            self._note(show_sample(sample.source, sample.output, sample.target))

    def _note(self, text: str) -> None:
        """Print a line above the bar."""
        self._console.print(text, soft_wrap=True)

    def _finished(self, event: watch.Finished) -> None:
        """Say why it ended and what came of it."""
        self._note(
            f"finished after {counted(event.step, 'update')} and {_clock(event.elapsed_s)}: "
            f"{event.reason}; best {event.metric} {event.best:.4g}"
        )


def show_sample(source: str, output: str, target: str) -> str:
    """One line for a source and its output, with the right answer where it is another."""
    right = "" if output == target else f"  (right: {printable(target)})"
    return f"  {printable(source)} → {printable(output)}{right}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
