"""A run or a package and held-out pairs into scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from builder.blueprint.load import load_blueprint
from builder.data.files import read_parallel
from builder.data.pairs import Pairs
from builder.dataset import read_pairs
from builder.errors import DataError, printable
from builder.metrics import score
from builder.run import BLUEPRINT
from builder.writer import open_writer

LINES_AT_ONCE = 2000


@dataclass(frozen=True)
class Sample:
    """One pair and what the model wrote."""

    source: str
    target: str
    output: str


@dataclass(frozen=True)
class Evaluation:
    """How well a model does on held-out pairs."""

    scores: dict[str, float]
    """Percent, but for `bleu` and `chrf`, which have scales of their own."""
    pairs: int
    cut_off: int
    """Outputs that a length limit cut off."""
    origin: str
    """Where the pairs come from."""
    samples: list[Sample]
    """Spread evenly over the pairs."""


def evaluate(
    model: Path,
    files: tuple[Path, Path] | None = None,
    *,
    overrides: Sequence[str] = (),
    samples: int = 5,
    threads: int | None = None,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> Evaluation:
    """Score a run folder or an ONNX file on `files`, a source and a target.

    Without them the run's test pairs serve, or else its validation pairs; an ONNX file's run is
    the folder that it lies in, and `overrides` change its blueprint, as in `data.test.path=FILE`.
    `progress` is called with the pairs done and all pairs.

    Raises:
        DataError: There are no pairs.
        RunError: The folder holds no run that can be used.
        PackageError: The file is no package that can be used.
    """
    generate = open_writer(model, threads=threads)
    pairs = read_parallel(*files) if files else _held_out(model, overrides)
    if not len(pairs):
        raise DataError(f"{printable(pairs.origin)}: no pairs to evaluate on")
    outputs = []
    for start in range(0, len(pairs), LINES_AT_ONCE):
        progress(start, len(pairs))
        outputs += generate(pairs.sources[start : start + LINES_AT_ONCE], first_line=start + 1)
    progress(len(pairs), len(pairs))
    texts = [output.text for output in outputs]
    chosen = range(0, len(pairs), max(1, len(pairs) // samples))[:samples] if samples else ()
    return Evaluation(
        scores=score(texts, pairs.targets, text_metrics=find_spec("sacrebleu") is not None),
        pairs=len(pairs),
        cut_off=sum(not output.ended for output in outputs),
        origin=pairs.origin,
        samples=[Sample(pairs.sources[i], pairs.targets[i], texts[i]) for i in chosen],
    )


def _held_out(model: Path, overrides: Sequence[str]) -> Pairs:
    """The pairs that the run's blueprint keeps for testing."""
    folder = model if model.is_dir() else model.parent
    if not (folder / BLUEPRINT).is_file():
        raise DataError(
            f"{printable(model.absolute())}: no run beside it to take pairs from: give --source "
            "and --target"
        )
    data = load_blueprint(folder / BLUEPRINT, overrides).data
    if data is None:
        raise DataError("the run's blueprint has no `data`: give --source and --target")
    return read_pairs(data, "test" if data.test else "valid")
