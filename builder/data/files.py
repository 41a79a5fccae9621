"""Text files into lines, and two parallel files into pairs."""

from __future__ import annotations

from pathlib import Path

from builder.data.pairs import Pairs, without_blanks
from builder.errors import DataError, printable
from builder.text.lines import stream_lines


def read_parallel(source: Path, target: Path, *, key: str = "") -> Pairs:
    """Pair line n of `source` with line n of `target`; pairs with a blank side are dropped.

    Messages begin with `key`, under which a user named the files, if there is one.

    Raises:
        DataError: a file cannot be read (see `read_lines`), or their line counts differ.
    """
    sources = read_lines(source, key=key and f"{key}.source")
    targets = read_lines(target, key=key and f"{key}.target")
    if len(sources) != len(targets):
        raise DataError(
            f"{place_of(key)}parallel files need as many lines each: {printable(source)} has "
            f"{len(sources):,}, {printable(target)} has {len(targets):,}"
        )
    return without_blanks(
        zip(sources, targets, strict=True), f"{printable(source)} and {printable(target)}"
    )


def read_lines(path: Path, *, key: str = "") -> list[str]:
    """Lines of a UTF-8 file, split as `text.lines` does it everywhere.

    Messages begin with `key`, under which a user named the file, if there is one.

    Raises:
        DataError: there is no such file, or it is not UTF-8; then with the line, from 1, and the
            offset of the byte in it, from 0.
    """
    place = printable(path.absolute())
    try:
        with path.open("rb") as file:
            portions = stream_lines(file, place=f"{place_of(key)}{printable(path)}:")
            return [line for portion in portions for line in portion]
    except FileNotFoundError as error:
        raise DataError(f"{place_of(key)}no such file: {place}") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{place_of(key)}cannot read {place}: {reason.lower()}") from error


def place_of(key: str) -> str:
    """How a message begins that is about what a user wrote under `key`; empty without one."""
    return f"{key}: " if key else ""
