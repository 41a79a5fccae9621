"""The bytes of an ONNX file into an ONNX Runtime session, opened with care."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as state

from builder.errors import MemoryFailure, PackageError, is_out_of_memory, printable

ENGINE_ERRORS: tuple[type[Exception], ...] = (
    MemoryError,
    *(
        kind
        for kind in vars(state).values()
        if isinstance(kind, type) and issubclass(kind, Exception)
    ),
)
"""What ONNX Runtime raises; its classes share no base of their own, and each version has others."""

NO_GRAPH = "No graph was found"
"""What it says of bytes that happen to parse and hold no model, such as those of an empty file."""
BLUEPRINTS = (".yaml", ".yml")

FATAL_ONLY = 4
"""The exceptions say the rest; the log would print names from the file as they are."""
PREFIX = "target_prefix"
OUTPUTS = {"target_ids", "scores", "lengths", "ended"}
CPU = "CPUExecutionProvider"


def open_session(
    data: bytes,
    *,
    beside: Path | None = None,
    threads: int | None = None,
    providers: Sequence[str] = (CPU,),
) -> onnxruntime.InferenceSession:
    """Load the graph in `data`; `threads` None takes one for each physical core.

    Tensors must lie in `data` itself, or in the file `beside`. That they lie in no other one of its
    folder is for the caller to know; what lies outside of that is refused.

    Raises:
        PackageError: There is no such graph, or a provider is not there.
        MemoryFailure: The graph does not fit into memory.
    """
    there = onnxruntime.get_available_providers()
    absent = [name for name in providers if name not in there]
    if absent:
        raise PackageError(f"no {absent[0]} in this ONNX Runtime; there are: {', '.join(there)}")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = FATAL_ONLY
    options.intra_op_num_threads = threads or 0
    # Tensors outside `data` are looked for below this folder. Below a file there is nothing.
    place = Path(__file__) if beside is None else beside.parent
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(place.absolute())
    )
    try:
        session = onnxruntime.InferenceSession(data, options, providers=list(providers))
    except ENGINE_ERRORS as error:
        size_bytes = len(data) + (beside.stat().st_size if beside is not None else 0)
        raise _refusal(error, size_bytes) from None
    if session.get_providers()[0] != providers[0]:
        raise PackageError(f"{providers[0]} does not start here")
    return session


def _refusal(error: Exception, size_bytes: int) -> PackageError | MemoryFailure:
    """What it means that ONNX Runtime does not take a file of `size_bytes`."""
    if is_out_of_memory(error):
        return MemoryFailure(f"not enough memory: to open a model of {size_bytes:,} bytes")
    if isinstance(error, state.InvalidProtobuf) or NO_GRAPH in str(error):
        return PackageError("not an ONNX file, or only a part of one")
    return PackageError(f"not a graph that can run: {first_line(error)}")


def check_signature(session: onnxruntime.InferenceSession, options: Iterable[str]) -> None:
    """Refuse a graph that is not called as a package with these `options` is."""
    required = {value.name for value in session.get_inputs()}
    taken = required | {value.name for value in session.get_overridable_initializers()}
    missing = {"source_ids", *options} - taken
    missing |= OUTPUTS - {value.name for value in session.get_outputs()}
    if missing:
        raise PackageError(f"not a Transom package: the graph has no {', '.join(sorted(missing))}")
    others = required - {"source_ids", PREFIX, *options}
    if others:
        names = printable(", ".join(sorted(others)))
        raise PackageError(f"not a Transom package: the graph also needs {names}")


def takes_prefix(session: onnxruntime.InferenceSession) -> bool:
    """Tell whether outputs can be told how to begin."""
    return PREFIX in {value.name for value in session.get_inputs()}


def first_line(error: Exception) -> str:
    """The first line of what ONNX Runtime says, which may quote the file."""
    lines = str(error).strip().splitlines()
    return printable(lines[0]) if lines else type(error).__name__


def read_file(path: Path) -> bytes:
    """Read the whole of a package's file.

    Raises:
        PackageError: It cannot be read, or is called as a blueprint is.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise PackageError("no such file; an ONNX file or a run folder is needed") from None
    except IsADirectoryError:
        raise PackageError("a folder, not an ONNX file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PackageError(reason.lower()) from None
    if path.suffix.lower() in BLUEPRINTS:
        raise PackageError("this is a blueprint; train and export it first")
    return data
