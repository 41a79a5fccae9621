"""The bytes of an ONNX file into an ONNX Runtime session, opened with care."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as state

from builder.errors import PackageError, printable

ENGINE_ERRORS = (
    state.EPFail,
    state.Fail,
    state.InvalidArgument,
    state.InvalidGraph,
    state.InvalidProtobuf,
    state.NoModel,
    state.NotImplemented,
    state.RuntimeException,
)
"""What ONNX Runtime raises; the classes share no base of their own."""

FATAL_ONLY = 4
"""The exceptions say the rest; the log would print names from the file as they are."""
INPUTS = {"source_ids"}
OUTPUTS = {"target_ids", "scores", "lengths", "ended"}
CPU = "CPUExecutionProvider"


def open_session(
    data: bytes, *, threads: int | None = None, providers: Sequence[str] = (CPU,)
) -> onnxruntime.InferenceSession:
    """Load the graph in `data`; `threads` None takes one for each physical core.

    Tensors must lie in `data` itself: a graph that reads other files is refused.

    Raises:
        PackageError: There is no such graph, or a provider is not there.
    """
    there = onnxruntime.get_available_providers()
    absent = [name for name in providers if name not in there]
    if absent:
        raise PackageError(f"no {absent[0]} in this ONNX Runtime; there are: {', '.join(there)}")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = FATAL_ONLY
    options.intra_op_num_threads = threads or 0
    # Tensors outside `data` would be looked for below this folder. It is a file: none is found.
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(Path(__file__).absolute())
    )
    try:
        session = onnxruntime.InferenceSession(data, options, providers=list(providers))
    except ENGINE_ERRORS as error:
        raise PackageError(f"not a graph that can run: {first_line(error)}") from None
    if session.get_providers()[0] != providers[0]:
        raise PackageError(f"{providers[0]} does not start here")
    return session


def check_signature(session: onnxruntime.InferenceSession) -> None:
    """Refuse a graph whose inputs and outputs are not those of a package."""
    missing = INPUTS - {value.name for value in session.get_inputs()}
    missing |= OUTPUTS - {value.name for value in session.get_outputs()}
    if missing:
        raise PackageError(f"not a Transom package: the graph has no {', '.join(sorted(missing))}")


def first_line(error: Exception) -> str:
    """The first line of what ONNX Runtime says, which may quote the file."""
    lines = str(error).strip().splitlines()
    return printable(lines[0]) if lines else type(error).__name__


def read_file(path: Path) -> bytes:
    """Read the whole of a package's file.

    Raises:
        PackageError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except IsADirectoryError:
        raise PackageError("a folder, not an ONNX file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PackageError(reason.lower()) from None
