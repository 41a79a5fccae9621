"""`transom run`: lines in, one line out for each."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from builder.wording import counted
from cli.options import GenerationOverrides, Json, Model, Threads
from cli.streams import note, write_results

if TYPE_CHECKING:
    from builder.text.lines import Readable
    from builder.text.output import Output
    from builder.writer import Writer

NBest = Annotated[
    int | None,
    typer.Option(
        "--n-best",
        min=1,
        max=1000,
        help="Write so many outputs for each line: --set generation.n_best=N.",
        show_default=False,
    ),
]
Beginning = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="What every output begins with.", show_default=False),
]


def run(
    model: Model,
    lines: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LINE", help="Lines to read; stdin without any.", show_default=False
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--input", metavar="FILE", help="Read the lines of a file.")
    ] = None,
    overrides: GenerationOverrides = None,
    n_best: NBest = None,
    prefix: Beginning = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Write the score and a tab before each output.")
    ] = False,
    as_json: Json = False,
    max_length: Annotated[
        int | None,
        typer.Option(min=1, max=2**31 - 1, help="Cut outputs off at so many tokens."),
    ] = None,
    threads: Threads = None,
) -> None:
    """Read lines and write exactly one line for each, with a run or an exported file.

    An ONNX file needs no torch. Lines end in LF or CRLF; an empty line gives an empty line. With
    several best outputs, each line has as many.
    """
    if lines and file:
        raise typer.BadParameter("lines come from arguments or from --input, not from both")
    from builder.writer import open_writer

    asked = [*(overrides or ()), *([] if n_best is None else [f"generation.n_best={n_best}"])]
    writer = open_writer(
        model, threads=threads, max_length=max_length, overrides=asked, prefix=prefix
    )
    show = _as_json if as_json else _with_scores if scores else _as_text
    _answer(writer, _read(lines, file), show)


def _answer(
    writer: Writer,
    portions: Iterator[list[str]],
    show: Callable[[str, list[Output]], Iterator[str]],
) -> None:
    """Write what comes of each line as it comes, and warnings at the end."""
    from builder.text.unknown import UnknownPieces

    if writer.seed is not None:
        note(f"seed {writer.seed}: `--set generation.seed=N` draws others")
    unknown = UnknownPieces(writer.source_tokenizer)
    read = cut_off = 0
    for lines in portions:
        outputs = writer.n_best(lines, first_line=read + 1)
        write_results(text for pair in zip(lines, outputs, strict=True) for text in show(*pair))
        unknown.look(lines, first_line=read + 1)
        read += len(lines)
        cut_off += sum(one.length > 0 and not one.ended for row in outputs for one in row)
    if cut_off:
        every = counted(read * writer.count, "output")
        note(f"warning: cut off by a length limit: {cut_off:,} of {every}")
    if unknown.count:
        note(f"warning: {unknown.describe()}")


def _read(lines: list[str] | None, file: Path | None) -> Iterator[list[str]]:
    """The lines to generate for, in portions, so that the first results come early."""
    from builder.data.files import read_lines
    from builder.text.lines import LINES_AT_ONCE, stream_lines

    if file is not None:
        lines = read_lines(file)
    elif not lines:
        yield from stream_lines(cast("Readable", sys.stdin.buffer))
        return
    for start in range(0, len(lines), LINES_AT_ONCE):
        yield lines[start : start + LINES_AT_ONCE]


def _as_text(_line: str, outputs: list[Output]) -> Iterator[str]:
    return (output.text for output in outputs)


def _with_scores(_line: str, outputs: list[Output]) -> Iterator[str]:
    return (f"{output.score:.4f}\t{output.text}" for output in outputs)


def _as_json(line: str, outputs: list[Output]) -> Iterator[str]:
    """One object: the best output, and all of them where there may be several."""
    found = [_plain(one) for one in outputs if one.length] or [_plain(outputs[0])]
    every = {"n_best": found} if len(outputs) > 1 else {}
    yield json.dumps({"source": line, **found[0], **every}, ensure_ascii=False)


def _plain(output: Output) -> dict[str, object]:
    """The parts of an output; JSON has no infinite number."""
    return {**vars(output), "score": output.score if isfinite(output.score) else None}
