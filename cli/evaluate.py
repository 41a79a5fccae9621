"""`transom evaluate`: a model and held-out pairs into scores."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from builder.wording import counted
from cli.options import EvaluationOverrides, Json, Model, Threads
from cli.streams import write_results

if TYPE_CHECKING:
    from collections.abc import Iterator

    from builder.evaluate import Evaluation


def evaluate(
    model: Model,
    source: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Source lines to evaluate on.")
    ] = None,
    target: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Their right outputs, line by line.")
    ] = None,
    overrides: EvaluationOverrides = None,
    samples: Annotated[int, typer.Option(min=0, help="Samples to show.")] = 5,
    as_json: Json = False,
    threads: Threads = None,
) -> None:
    """Score a run or an exported file on held-out pairs.

    They are --source and --target, or else the run's test or validation pairs, whose place
    --set data.test.path=FILE changes. The run of an ONNX file is the folder it lies in. --set
    generation.beams=8 and the like change how outputs are searched.
    """
    if (source is None) != (target is None):
        raise typer.BadParameter("--source and --target come together")
    from builder.evaluate import evaluate as evaluate_model

    files = (source, target) if source and target else None
    progress = _show if sys.stderr.isatty() else lambda _done, _all: None
    result = evaluate_model(
        model,
        files,
        overrides=overrides or (),
        samples=samples,
        threads=threads,
        progress=progress,
    )
    shown = [json.dumps(asdict(result), ensure_ascii=False)] if as_json else _report(result)
    write_results(shown)


def _report(result: Evaluation) -> Iterator[str]:
    from builder.errors import printable
    from cli.watch import show_sample

    for name, value in result.scores.items():
        unit = "" if name in ("bleu", "chrf") else " %"
        yield f"{name.replace('_', ' ')}: {value:.2f}{unit}"
    cut_off = counted(result.cut_off, "output")
    yield f"pairs: {result.pairs:,} ({cut_off} cut off), {result.origin}"
    if result.dropped:
        counts = (f"{count:,} {reason}" for reason, count in result.dropped.items())
        yield f"left out: {', '.join(counts)}"
    if result.note:
        yield printable(result.note)
    for sample in result.samples:
        yield show_sample(sample.source, sample.output, sample.target)


def _show(done: int, every: int) -> None:
    end = "\n" if done == every else ""
    print(f"\r{done:,} of {every:,} lines", end=end, file=sys.stderr, flush=True)  # noqa: T201
