"""A run or a package, whichever is given, into a function that writes lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from builder.text.output import Output
from builder.text.tokenizer import TextTokenizer


@dataclass(frozen=True)
class Writer:
    """Writes one output for each line, in order; an empty line gives an empty output."""

    source_tokenizer: TextTokenizer
    """What cuts lines into the pieces that the model reads."""
    generate: Callable[..., list[Output]]

    def __call__(
        self, lines: Sequence[str], *, first_line: int = 1, noun: str = "line"
    ) -> list[Output]:
        """Generate; messages name a line by `noun` and its number, the first by `first_line`.

        Raises:
            DataError: A line is longer than the model reads, or no Unicode text.
        """
        return self.generate(lines, first_line=first_line, noun=noun)


def open_writer(path: Path, *, threads: int | None = None, max_length: int | None = None) -> Writer:
    """Open the run folder or the ONNX file in `path`; torch is loaded for a folder alone.

    `threads` None leaves the choice to the engine; `max_length` counts EOS and only shortens.

    Raises:
        RunError: The folder holds no run, or one that cannot be used.
        PackageError: The file is no package, or one that cannot be used.
    """
    if path.is_dir():
        return _open_run(path, threads, max_length)
    from builder.runtime.package import Package

    package = Package.load(path, threads=threads)
    return Writer(
        package.metadata.source_tokenizer, partial(package.generate, max_length=max_length)
    )


def _open_run(folder: Path, threads: int | None, max_length: int | None) -> Writer:
    import torch

    from builder.generate import generate_lines
    from builder.run import Run
    from builder.search.limits import NO_LIMIT

    if threads is not None:
        torch.set_num_threads(threads)
    run = Run.open(folder)
    generate = partial(
        generate_lines,
        run.load_model(),
        (run.source_tokenizer, run.target_tokenizer),
        strategy=run.blueprint.generation,
        max_length=NO_LIMIT if max_length is None else max_length,
    )
    return Writer(run.source_tokenizer, generate)
