"""A run or a package and held-out pairs into scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from builder.blueprint.load import load_blueprint
from builder.blueprint.override import allow_only
from builder.data.files import read_parallel
from builder.data.pairs import Pairs
from builder.dataset import read_pairs
from builder.errors import DataError, printable
from builder.metrics import score, signatures
from builder.run import BLUEPRINT
from builder.text.output import Output
from builder.training.watch import Sample
from builder.writer import Writer, open_writer

LINES_AT_ONCE = 2000


@dataclass(frozen=True)
class Evaluation:
    """How well a model does on held-out pairs."""

    scores: dict[str, float]
    """Percent, but for `bleu` and `chrf`, which have scales of their own."""
    signatures: dict[str, str]
    """How `bleu` and `chrf` were computed."""
    pairs: int
    cut_off: int
    """Outputs that a length limit cut off."""
    origin: str
    """Where the pairs come from."""
    dropped: dict[str, int]
    """Pairs left out, counted by reason."""
    note: str
    """What else is known of the pairs."""
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
    the folder it lies in. `overrides` say where they are, as in `data.test.path=FILE`, and how the
    model is to write, as `open_writer` takes it. `progress` is called with the pairs done and all
    pairs.

    Raises:
        BlueprintError: `overrides` change something else, or are wrong.
        DataError: There are no pairs, or the model cannot read one.
        RunError, PackageError: The model cannot be used.
    """
    search, places = _sorted_out(overrides)
    if files and places:
        raise DataError("`--set data.…` and two files name pairs: choose one")
    generate = open_writer(model, threads=threads, overrides=search)
    pairs = read_parallel(*files) if files else _held_out(model, places)
    if not len(pairs):
        raise DataError(f"{printable(pairs.origin)}: no pairs to evaluate on")
    outputs = _write(generate, pairs.sources, progress)
    return _evaluation(pairs, outputs, samples)


def _evaluation(pairs: Pairs, outputs: Sequence[Output], samples: int) -> Evaluation:
    """How well `outputs` are what the pairs say, with so many samples."""
    texts = [output.text for output in outputs]
    has_bleu = find_spec("sacrebleu") is not None
    return Evaluation(
        scores=score(texts, pairs.targets, text_metrics=has_bleu),
        signatures=signatures() if has_bleu else {},
        pairs=len(pairs),
        cut_off=sum(not output.ended for output in outputs),
        origin=pairs.origin,
        dropped=pairs.dropped,
        note=pairs.note,
        samples=_samples(pairs, texts, samples),
    )


def _sorted_out(overrides: Sequence[str]) -> tuple[list[str], list[str]]:
    """What changes the search, and what says where the pairs are."""
    allow_only(overrides, "data", "generation", reason="a model is scored as it was trained")
    search = [text for text in overrides if text.strip().startswith("generation")]
    return search, [text for text in overrides if text not in search]


def _write(
    generate: Writer, sources: Sequence[str], progress: Callable[[int, int], None]
) -> list[Output]:
    """One output for each source; a source that cannot be read is named as a pair."""
    outputs = []
    for start in range(0, len(sources), LINES_AT_ONCE):
        progress(start, len(sources))
        some = sources[start : start + LINES_AT_ONCE]
        outputs += generate(some, first_line=start + 1, noun="pair")
    progress(len(sources), len(sources))
    return outputs


def _samples(pairs: Pairs, outputs: Sequence[str], count: int) -> list[Sample]:
    chosen = range(0, len(pairs), max(1, len(pairs) // count))[:count] if count else ()
    return [Sample(pairs.sources[i], pairs.targets[i], outputs[i]) for i in chosen]


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
