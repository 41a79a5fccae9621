from __future__ import annotations

import io

import pytest

from builder.errors import DataError
from builder.text.lines import LINES_AT_ONCE, READ_BYTES, stream_lines


class InParts:
    """A stream whose bytes arrive in the given parts."""

    def __init__(self, *parts: bytes) -> None:
        self._parts = list(parts)

    def read1(self, _size: int, /) -> bytes:
        return self._parts.pop(0) if self._parts else b""


def test_gives_lines_as_soon_as_they_are_complete() -> None:
    stream = InParts(b"a\nb", b"c\n", b"d", b"e", b"\nf")

    assert list(stream_lines(stream)) == [["a"], ["bc"], ["de"], ["f"]]


def test_a_character_may_arrive_in_parts() -> None:
    whole = "é\r\n日\r\n".encode()
    parts = [whole[i : i + 1] for i in range(len(whole))]

    assert list(stream_lines(InParts(*parts))) == [["é"], ["日"]]


def test_keeps_portions_small() -> None:
    portions = list(stream_lines(io.BytesIO(b"a\n" * (2 * LINES_AT_ONCE + 1))))

    assert [len(portion) for portion in portions] == [LINES_AT_ONCE, LINES_AT_ONCE, 1]


def test_long_lines_stay_whole() -> None:
    line = "x" * (3 * READ_BYTES)

    assert list(stream_lines(io.BytesIO(f"{line}\n{line}".encode()))) == [[line], [line]]


def test_the_byte_order_mark_is_taken_from_the_first_line_alone() -> None:
    text = "\ufeffa\n\ufeffb\n"

    assert list(stream_lines(io.BytesIO(text.encode()))) == [["a", "\ufeffb"]]


@pytest.mark.parametrize("parts", [(b"\xef\xbb\xbf",), (b"\xef", b"\xbb", b"\xbf"), ()])
def test_a_byte_order_mark_alone_is_no_line(parts: tuple[bytes, ...]) -> None:
    assert list(stream_lines(InParts(*parts))) == []


@pytest.mark.parametrize("parts", [(b"\xef", b"\xbb\xbfa\n"), (b"\xef\xbb", b"\xbf", b"a\n")])
def test_a_byte_order_mark_may_arrive_in_parts(parts: tuple[bytes, ...]) -> None:
    assert list(stream_lines(InParts(*parts))) == [["a"]]


def test_a_first_line_shorter_than_the_mark_does_not_wait() -> None:
    stream = InParts(b"a\n", b"b\n")

    assert next(stream_lines(stream)) == ["a"]
    assert stream.read1(1) == b"b\n"


@pytest.mark.parametrize("line", [b"a\x92b", b"\xe6\x97", b"\xed\xa0\x80"])
def test_names_the_line_that_is_not_utf8(line: bytes) -> None:
    with pytest.raises(DataError, match="line 3"):
        list(stream_lines(io.BytesIO(b"a\n\n" + line + b"\nc\n")))
    with pytest.raises(DataError, match=r"some\.txt:3: not UTF-8"):
        list(stream_lines(io.BytesIO(b"a\n\n" + line + b"\nc\n"), place="some.txt:"))
