"""A stream of bytes into lines of text, as they arrive."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from itertools import count
from typing import Protocol

from builder.errors import DataError

READ_BYTES = 1 << 16
LINES_AT_ONCE = 500


class Readable(Protocol):
    """A binary stream that gives what has arrived, without waiting for more."""

    def read1(self, size: int, /) -> bytes:
        """Return at most `size` bytes; none at the end."""


def stream_lines(stream: Readable, *, place: str = "line ") -> Iterator[list[str]]:
    r"""Give the lines of UTF-8 text as they arrive, at most `LINES_AT_ONCE` together.

    Lines end in \n or \r\n and nothing else; a byte order mark at the start is no text. `place`
    stands before the number of a line in messages.

    Raises:
        DataError: A line is not UTF-8.
    """
    numbers = count(1)
    for lines in _split(stream):
        for start in range(0, len(lines), LINES_AT_ONCE):
            some = lines[start : start + LINES_AT_ONCE]
            yield [_decode(line, f"{place}{next(numbers)}") for line in some]


def _split(stream: Readable) -> Iterator[list[bytes]]:
    begun: list[bytes] = []  # the parts of a line that has not ended yet
    for data in _without_mark(stream):
        first, *others = data.split(b"\n")
        begun.append(first)
        if others:
            yield [b"".join(begun), *others[:-1]]
            begun = [others[-1]]
    if last := b"".join(begun):
        yield [last]


def _without_mark(stream: Readable) -> Iterator[bytes]:
    """Give what arrives, but a byte order mark at the start, which may come in parts."""
    mark, start = codecs.BOM_UTF8, b""
    while start != mark and mark.startswith(start) and (data := stream.read1(READ_BYTES)):
        start += data
    yield start.removeprefix(mark)
    while data := stream.read1(READ_BYTES):
        yield data


def _decode(line: bytes, place: str) -> str:
    try:
        return line.removesuffix(b"\r").decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{place}: not UTF-8: byte 0x{line[error.start]:02x} at offset {error.start} "
            "of the line"
        ) from error
