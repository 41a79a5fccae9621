"""Text files into lines, and two parallel files into pairs."""

from __future__ import annotations

from pathlib import Path

from builder.data.pairs import Pairs, without_blanks
from builder.errors import DataError, printable
from builder.text.lines import stream_lines


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
    """Lines of a UTF-8 file, split as `text.lines` does it everywhere.

    Raises:
        DataError: there is no such file, or it is not UTF-8; then with the line, from 1, and the
            offset of the byte in it, from 0.
    """
    place = printable(path.absolute())
    try:
        with path.open("rb") as file:
            portions = stream_lines(file, place=f"{printable(path)}:")
            return [line for portion in portions for line in portion]
    except FileNotFoundError as error:
        raise DataError(f"no such file: {place}") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"cannot read {place}: {reason.lower()}") from error
