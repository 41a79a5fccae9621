"""The `transom` command: what a command raises becomes one message and an exit code."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer
from typer.main import get_command

from builder.errors import BuilderError, MissingExtra, printable
from cli.build import build
from cli.check import check
from cli.data import data
from cli.diff import diff
from cli.evaluate import evaluate
from cli.export import export
from cli.list import list_blueprints
from cli.new import new
from cli.run import run
from cli.schema import schema
from cli.streams import note, use_utf8, write_results
from cli.train import train

FAILED, WRONG_USAGE, INTERRUPTED, TERMINATED = 1, 2, 130, 143
"""Exit codes beside 0 for done and 2 for a user's mistake; see also `streams.READER_GONE`."""

EXTRAS = {"babel": "demo"} | dict.fromkeys(
    ("jaxtyping", "onnx", "onnx_ir", "onnxscript", "sacrebleu", "safetensors", "torch"),
    "train",
)
"""The extra that brings a package which the plain install leaves out."""

USAGE_ERROR = typer.BadParameter.__mro__[1]
"""What a command line ends in that has no meaning; typer gives the class no public name."""

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (check, build, train, export, run, evaluate, new, data, diff, schema):
    app.command()(command)
app.command("list")(list_blueprints)


def show_version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        from builder import __version__

        write_results([f"transom {__version__}"])
        raise typer.Exit


@app.callback()
def transom(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an error arose; also TRANSOM_DEBUG=1.")
    ] = False,
    version: Annotated[  # noqa: ARG001
        bool,
        typer.Option("--version", help="Print the version.", callback=show_version, is_eager=True),
    ] = False,
) -> None:
    """From a YAML blueprint of a Transformer to one ONNX file that generates.

    Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 a run, proof or bound
    failed, 2 a mistake in the command or its files, 130 Ctrl-C, 141 the reader of stdout left,
    143 terminated.
    """
    if debug:
        os.environ["TRANSOM_DEBUG"] = "1"


def main() -> NoReturn:
    """Run the command that the process was started with."""
    use_utf8()
    signal.signal(signal.SIGTERM, terminate)
    sys.exit(run_command(sys.argv[1:]))


def terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Leave through every `finally`, so that no half-written file stays behind."""
    raise SystemExit(TERMINATED)


def run_command(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code, having told stderr why where it is not 0."""
    try:
        code = get_command(app).main(args=arguments, prog_name="transom", standalone_mode=False)
    except SystemExit as stop:
        code = stop.code
    except Exception as error:  # noqa: BLE001 - a bug, too, must end in a line and a code
        if os.environ.get("TRANSOM_DEBUG", "0") != "0":
            note(traceback.format_exc().rstrip())
        message, code = explain(error, arguments)
        note(message)
        return code
    if code == INTERRUPTED:
        note("interrupted")
    return int(code or 0)


def explain(error: Exception, arguments: Sequence[str]) -> tuple[str, int]:
    """The message and the exit code that `error` ends in."""
    match error:
        case BuilderError():
            return str(error), error.exit_code
        case _ if isinstance(error, USAGE_ERROR):
            return explain_usage(error, arguments), WRONG_USAGE
        case ModuleNotFoundError(name=str(name)) if extra := EXTRAS.get(name.partition(".")[0]):
            command = next(word for word in arguments if not word.startswith("-"))
            missing = MissingExtra(command, extra)
            return str(missing), missing.exit_code
        case OSError(strerror=str(reason)):
            place = f": {printable(os.fsdecode(error.filename))}" if error.filename else ""
            return f"{reason.lower()}{place}", FAILED
    text = " ".join(printable(line) for line in str(error).splitlines())
    kind = type(error).__name__
    return f"internal error: {kind}: {text}; `transom --debug …` shows where it arose", FAILED


def explain_usage(error: Any, arguments: Sequence[str]) -> str:
    """One line for a command line that nothing understands; the help where it is empty."""
    text = error.format_message()
    if not arguments:
        return str(text)
    command = error.ctx.command_path if error.ctx else "transom"
    stop = "" if text.endswith("?") else "."
    text = printable(text.rstrip("."))
    return f"{command}: {text[:1].lower()}{text[1:]}{stop} `{command} --help` shows what there is"


if __name__ == "__main__":
    main()
