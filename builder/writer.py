"""A run or a package, whichever is given, into functions that write lines and score pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from builder.errors import BlueprintError, PackageError, Problem, printable
from builder.text.output import Output, Scored, missing
from builder.text.prefix import Prefix
from builder.text.tokenizer import TextTokenizer

if TYPE_CHECKING:
    from builder.blueprint.generation import Strategy
    from builder.runtime.package import Package

Options = dict[str, int | float]


@dataclass(frozen=True)
class Writer:
    """Writes outputs for each line, in order; an empty line gives empty ones."""

    source_tokenizer: TextTokenizer
    """What cuts lines into the pieces that the model reads."""
    target_tokenizer: TextTokenizer
    generate: Callable[..., list[list[Output]]]
    """From lines, `first_line` and `noun` to the outputs of each, best first."""
    score: Callable[..., list[Scored]]
    """From pairs, `first_line` and `noun` to how likely the model finds each target."""
    options: Options
    """What every search is asked for."""

    def __call__(
        self, lines: Sequence[str], *, first_line: int = 1, noun: str = "line"
    ) -> list[Output]:
        """Write the best output for each line.

        Messages name a line by `noun` and its number, which is `first_line` for the first.

        Raises:
            DataError: A line is longer than the model reads, or no Unicode text, or its output
                cannot begin as it is to.
        """
        found = self.generate(lines, first_line=first_line, noun=noun)
        return [row[0] if row else missing() for row in found]

    def n_best(
        self, lines: Sequence[str], *, first_line: int = 1, noun: str = "line"
    ) -> list[list[Output]]:
        """Write for each line as many outputs as `count`, best first; raises as a call does.

        What the search did not find has no length.
        """
        found = self.generate(lines, first_line=first_line, noun=noun)
        return [[*row, *[missing()] * (self.count - len(row))] for row in found]

    @property
    def count(self) -> int:
        """Outputs of each line."""
        return int(self.options.get("n_best", 1))

    @property
    def seed(self) -> int | None:
        """Where draws start from; None where nothing is drawn."""
        seed = self.options.get("seed")
        return None if seed is None else int(seed)


def open_writer(
    path: Path,
    *,
    threads: int | None = None,
    max_length: int | None = None,
    overrides: Sequence[str] = (),
    prefix: Prefix = None,
) -> Writer:
    """Open the run folder or the ONNX file in `path`; torch is loaded for a folder alone.

    `threads` None leaves the choice to the engine; `max_length` counts EOS and only shortens.
    `overrides` change `generation`, in a file what its options cover. Outputs begin with `prefix`,
    one for all lines, or one for each of the lines that are written at once.

    Raises:
        BlueprintError: `overrides` change something else, or are wrong.
        RunError: The folder holds no run, or one that cannot be used.
        PackageError: The file is no package, or one that cannot be used.
    """
    if overrides:
        from builder.blueprint.override import allow_only

        allow_only(overrides, "generation", reason="what was trained stays as it is")
    asked: Options = {} if max_length is None else {"max_length": max_length}
    if path.is_dir():
        return _open_run(path, threads, asked=asked, overrides=overrides, prefix=prefix)
    from builder.runtime.package import Package

    package = Package.load(path, threads=threads)
    if prefix is not None:
        package.check_takes_prefix()
    asked = {**_asked(package, overrides), **asked}
    generate: Callable[..., Any] = package.generate_n_best
    return Writer(
        source_tokenizer=package.metadata.source_tokenizer,
        target_tokenizer=package.metadata.target_tokenizer,
        generate=partial(generate, prefix=prefix, **asked),
        score=package.score,
        options={**package.metadata.options, **asked},
    )


def _asked(package: Package, overrides: Sequence[str]) -> Options:
    """The options that differ from the file's where `overrides` change its blueprint.

    Raises:
        BlueprintError: They change what is fixed in the file, or are wrong.
        PackageError: The blueprint in the file is damaged.
    """
    if not overrides:
        return {}
    from builder.blueprint.load import parse_blueprint
    from builder.blueprint.override import flag_name

    own, place = _own_strategy(package), printable(package.path.absolute())
    wanted = parse_blueprint(package.metadata.blueprint, place, overrides).generation
    before, after = own.model_dump(), wanted.model_dump()
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    if before["kind"] != after["kind"]:
        changed = ["kind"]
    covered = package.metadata.options.keys() - {"max_length"}
    free = {key for key in covered if after.get(key) is not None}
    problems = [
        Problem(
            f"{'needed' if key in covered else 'fixed'} in {place}: export the run again with "
            f"`--set {printable(override)}`; what can be set: "
            f"{', '.join(sorted(covered)) or 'nothing'}",
            path=f"generation.{key}",
            file=flag_name(override),
        )
        for key in changed
        if key not in free
        for override in [_flag_of(key, overrides)]
    ]
    if problems:
        raise BlueprintError(problems)
    return {key: after[key] for key in changed}


def _own_strategy(package: Package) -> Strategy:
    """How a file generates, as the blueprint in it says."""
    from builder.blueprint.document import read_tree
    from builder.blueprint.load import parse_blueprint
    from builder.blueprint.nodes import Source
    from builder.blueprint.read import split_lines

    text, place = package.metadata.blueprint, printable(package.path.absolute())
    try:
        tree, _ = read_tree(text, Source(place, split_lines(text)))
        if "extends" in tree.entries:  # nothing is opened that a file names
            raise PackageError(f"{place}: damaged metadata: its blueprint extends another")
        return parse_blueprint(text, place).generation
    except BlueprintError as error:
        raise PackageError(f"{place}: damaged metadata: its blueprint is none: {error}") from None


def _flag_of(key: str, overrides: Sequence[str]) -> str:
    """The last of `overrides` that changes `generation.KEY`."""
    names = {override: override.partition("=")[0].strip() for override in overrides}
    found = [o for o, name in names.items() if f"{name}.".startswith(f"generation.{key}.")]
    return (found or list(overrides))[-1]


def _open_run(
    folder: Path,
    threads: int | None,
    *,
    asked: Options,
    overrides: Sequence[str],
    prefix: Prefix,
) -> Writer:
    import torch

    from builder.blueprint.load import load_blueprint
    from builder.generate import Generator
    from builder.run import BLUEPRINT, Run

    if threads is not None:
        torch.set_num_threads(threads)
    run = Run.open(folder)
    if overrides:
        run = replace(run, blueprint=load_blueprint(folder / BLUEPRINT, overrides))
    tokenizers = (run.source_tokenizer, run.target_tokenizer)
    generator = Generator.of(run.load_model(), tokenizers, run.blueprint.generation)
    return Writer(
        source_tokenizer=run.source_tokenizer,
        target_tokenizer=run.target_tokenizer,
        generate=partial(generator.lines, asked=asked, prefix=prefix),
        score=generator.score,
        options={**generator.options, **asked},
    )
