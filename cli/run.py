"""`transom run`: lines in, one line out for each."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from builder.wording import counted
from cli.options import Json, Model, Threads
from cli.streams import note, write_results

if TYPE_CHECKING:
    from builder.text.lines import Readable
    from builder.text.output import Output
    from builder.writer import Writer


def run(
    model: Model,
    lines: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LINE", help="Lines to read; stdin without any.", show_default=False
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--input", metavar="FILE", help="Read the lines of a file."),
    ] = None,
    as_json: Json = False,
    max_length: Annotated[
        int | None,
        typer.Option(min=1, max=2**31 - 1, help="Cut outputs off at so many tokens."),
    ] = None,
    threads: Threads = None,
) -> None:
    """Read lines and write exactly one line for each, with a run or an exported file.

    An ONNX file needs no torch. Lines end in LF or CRLF; an empty line gives an empty line.
    """
    if lines and file:
        raise typer.BadParameter("lines come from arguments or from --input, not from both")
    from builder.writer import open_writer

    generate = open_writer(model, threads=threads, max_length=max_length)
    _answer(generate, _read(lines, file), _as_json if as_json else _as_text)


def _answer(
    generate: Writer, portions: Iterator[list[str]], show: Callable[[str, Output], str]
) -> None:
    """Write what comes of each line as it comes, and warnings at the end."""
    from builder.text.unknown import UnknownPieces

    unknown = UnknownPieces(generate.source_tokenizer)
    read = cut_off = 0
    for lines in portions:
        outputs = generate(lines, first_line=read + 1)
        write_results(map(show, lines, outputs))
        unknown.look(lines, first_line=read + 1)
        read += len(lines)
        cut_off += sum(not output.ended for output in outputs)
    if cut_off:
        note(f"warning: cut off by a length limit: {cut_off:,} of {counted(read, 'output')}")
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


def _as_text(_line: str, output: Output) -> str:
    return output.text


def _as_json(line: str, output: Output) -> str:
    return json.dumps({"source": line, **vars(output)}, ensure_ascii=False)
