"""A run or a package, whichever is given, into a function that writes lines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from builder.text.output import Output


class Writer(Protocol):
    """Writes one output for each line, in order; an empty line gives an empty output."""

    def __call__(
        self, lines: Sequence[str], *, first_line: int = 1, noun: str = "line"
    ) -> list[Output]:
        """Generate; messages name a line by `noun` and its number, the first by `first_line`.

        Raises:
            DataError: A line is longer than the model reads, or no Unicode text.
        """


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

    return partial(Package.load(path, threads=threads).generate, max_length=max_length)


def _open_run(folder: Path, threads: int | None, max_length: int | None) -> Writer:
    import torch

    from builder.generate import generate_lines
    from builder.run import Run
    from builder.search.limits import NO_LIMIT

    if threads is not None:
        torch.set_num_threads(threads)
    run = Run.open(folder)
    return partial(
        generate_lines,
        run.load_model(),
        (run.source_tokenizer, run.target_tokenizer),
        strategy=run.blueprint.generation,
        max_length=NO_LIMIT if max_length is None else max_length,
    )
