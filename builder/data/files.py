"""Text files into lines, and two parallel files into pairs."""

from __future__ import annotations

import codecs
from pathlib import Path

from builder.data.pairs import Pairs, without_blanks
from builder.errors import DataError, printable


def read_parallel(source: Path, target: Path) -> Pairs:
    """Pair line n of `source` with line n of `target`; pairs with a blank side are dropped.

    Raises:
        DataError: a file cannot be read (see `read_lines`), or their line counts differ.
    """
    sources, targets = read_lines(source), read_lines(target)
    if len(sources) != len(targets):
        raise DataError(
            f"parallel files need as many lines each: {printable(source)} has {len(sources)}, "
            f"{printable(target)} has {len(targets)}"
        )
    return without_blanks(
        zip(sources, targets, strict=True), f"{printable(source)} and {printable(target)}"
    )


def read_lines(path: Path) -> list[str]:
    r"""Lines of a UTF-8 file, split at \n or \r\n and nowhere else, the byte order mark removed.

    Raises:
        DataError: there is no such file, or it is not UTF-8; then with the line, from 1, and the
            offset of the byte in the file, from 0.
    """
    raw = _read_bytes(path)
    data = raw.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        offset = error.start + len(raw) - len(data)
        raise DataError(
            f"{printable(path)}:{line}: not UTF-8: "
            f"byte 0x{data[error.start]:02x} at offset {offset} of the file"
        ) from error
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _read_bytes(path: Path) -> bytes:
    place = printable(path.absolute())
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise DataError(f"no such file: {place}") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"cannot read {place}: {reason.lower()}") from error
