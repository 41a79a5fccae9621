"""The `transom` command: what a command raises becomes one message and an exit code."""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer
from typer.main import get_command

from builder.errors import BuilderError, MissingExtra, is_out_of_memory, printable
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
from cli.score import score
from cli.streams import note, open_closed, use_utf8, write_results
from cli.train import train
from cli.verify import verify

FAILED, WRONG_USAGE, INTERRUPTED, TERMINATED = 1, 2, 130, 143
"""Exit codes beside 0 for done and 2 for a user's mistake; see also `streams.READER_GONE`."""

EXTRAS = {"babel": "demo"} | dict.fromkeys(
    ("jaxtyping", "onnx", "onnx_ir", "onnxscript", "sacrebleu", "safetensors", "torch"),
    "train",
)
"""The extra that brings a package which the plain install leaves out."""

NEEDS_LESS = {
    "train": "a smaller `training.microbatch_tokens` or `training.batch_tokens`, "
    "a lower `data.max_length` or a smaller model needs less",
    "run": "shorter lines or a lower `--max-length` need less",
    "evaluate": "shorter lines need less",
    "score": "shorter lines need less",
}
"""What helps a command whose memory ran out; nothing but a smaller model helps the others."""

SUMMARIES = {
    "run": "Read lines and write one for each, with a run or an ONNX file.",
    "score": "Write how likely a model finds each target of given pairs.",
    "verify": "Check that an exported file writes what it wrote at export.",
    "new": "Write a commented blueprint to start from.",
    "data": "Print what a model will see of a blueprint's data.",
    "diff": "Compare two blueprints or runs in meaning.",
    "schema": "Print the JSON Schema of blueprints, for editors.",
}
"""What the list of commands says where a command's own first sentence is too long for a line."""

USAGE_ERROR = typer.BadParameter.__mro__[1]
"""What a command line ends in that has no meaning; typer gives the class no public name."""

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (check, build, train, export, run, evaluate, score, verify, new, data, diff, schema):
    app.command(short_help=SUMMARIES.get(command.__name__))(command)
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

    Results go to stdout, everything else to stderr. Exit codes: 0 done; 1 a training, a proof or
    the machine failed, or there is a bug in Transom; 2 a mistake in the command, a blueprint, the
    data or a file; 130 Ctrl-C; 141 whoever reads stdout left; 143 SIGTERM.
    """
    if debug:
        os.environ["TRANSOM_DEBUG"] = "1"


def main() -> NoReturn:
    """Run the command that the process was started with."""
    open_closed()
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
        if os.environ.get("TRANSOM_DEBUG", "") not in ("", "0"):
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
            missing = MissingExtra(named(arguments), extra)
            return str(missing), missing.exit_code
        case _ if is_out_of_memory(error):
            less = NEEDS_LESS.get(named(arguments), "a smaller model needs less")
            return f"not enough memory: {less}", FAILED
        case OSError(strerror=str(reason)):
            place = f": {printable(os.fsdecode(error.filename))}" if error.filename else ""
            # No machine takes such a name, so it is not the machine that failed.
            code = WRONG_USAGE if error.errno == errno.ENAMETOOLONG else FAILED
            return f"{reason.lower()}{place}", code
    text = " ".join(printable(line) for line in str(error).splitlines())
    kind = type(error).__name__
    return f"internal error: {kind}: {text}; `transom --debug …` shows where it arose", FAILED


def named(arguments: Sequence[str]) -> str:
    """The command that `arguments` name; empty where they name none."""
    group: Any = get_command(app)
    return next((word for word in arguments if word in group.commands), "")


def explain_usage(error: Any, arguments: Sequence[str]) -> str:
    """One line for a command line that nothing understands; the help where it is empty."""
    text = wrong_number(error) or error.format_message()
    if not arguments:
        return str(text)
    command = error.ctx.command_path if error.ctx else f"transom {named(arguments)}".strip()
    stop = "" if text.endswith("?") else "."
    text = printable(text.rstrip("."))
    return f"{command}: {text[:1].lower()}{text[1:]}{stop} `{command} --help` shows what there is"


def wrong_number(error: Any) -> str | None:
    """What stands in the place of a whole number, and which may; None where it is not about one."""
    option = getattr(error, "param", None)
    kind = getattr(option, "type_descriptor", None)
    refused = getattr(error.__cause__, "errors", None)
    if option is None or kind is None or kind.annotation is not int or refused is None:
        return None
    least, most = kind.parameter_info.min, kind.parameter_info.max
    allowed = f"from {least} to {most:,}" if most is not None else f"of at least {least}"
    found = refused()[0]["input"]
    return f"{option.opts[0]}: found `{found}`; a whole number {allowed} is needed"


if __name__ == "__main__":
    main()
