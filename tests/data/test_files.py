from __future__ import annotations

from pathlib import Path

import pytest

from builder.data.files import read_lines, read_parallel
from builder.errors import DataError


def write(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        ("one\ntwo\n", ["one", "two"]),
        ("one\ntwo", ["one", "two"]),
        ("one\r\ntwo\r\n", ["one", "two"]),
        ("one\r\ntwo\r", ["one", "two"]),
        ("\ufeffone\n\ufefftwo", ["one", "\ufefftwo"]),
        (
            "a\u2028b\x0bc\x85d\u2029e\x0cf\x1cg\rh\ni",
            ["a\u2028b\x0bc\x85d\u2029e\x0cf\x1cg\rh", "i"],
        ),
        ("one\n\n\n", ["one", "", ""]),
        ("\n", [""]),
        ("", []),
        ("\ufeff", []),
        ("\x00\n", ["\x00"]),
    ],
)
def test_lines_end_at_line_feeds_only(tmp_path: Path, data: str, lines: list[str]) -> None:
    assert read_lines(write(tmp_path / "text", data)) == lines


@pytest.mark.parametrize(
    ("data", "line", "byte", "offset"),
    [
        (b"one\ntwo\nit\x92s\nfour\n", 3, "0x92", 2),
        (b"\xef\xbb\xbfone\nit\x92s", 2, "0x92", 2),
        (b"one\ncut \xe2\x82", 2, "0xe2", 4),
        (b"\xff\xfeo\x00n\x00e\x00", 1, "0xff", 0),
        (b"half of a pair \xed\xa0\x80\n", 1, "0xed", 15),
    ],
)
def test_a_bad_byte_is_named_with_its_place(
    tmp_path: Path, data: bytes, line: int, byte: str, offset: int
) -> None:
    path = write(tmp_path / "text", data)

    with pytest.raises(DataError) as caught:
        read_lines(path)

    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert byte in str(caught.value)
    assert f" {offset} " in str(caught.value)


def test_a_missing_file_is_named_by_its_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(DataError) as caught:
        read_lines(Path("data/none.txt"))

    assert str(tmp_path / "data" / "none.txt") in str(caught.value)


@pytest.mark.parametrize("name", ["", "nul\x00byte", "x" * 300])
def test_a_path_that_is_no_file_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError) as caught:
        read_lines(tmp_path / name)

    assert str(tmp_path) in str(caught.value)
    assert "\x00" not in str(caught.value)


def test_differing_line_counts_are_refused_with_both(tmp_path: Path) -> None:
    source = write(tmp_path / "five", "1\n2\n3\n4\n5\n")
    target = write(tmp_path / "four", "1\n2\n3\n4")

    with pytest.raises(DataError) as caught:
        read_parallel(source, target)

    for part in (str(source), " 5", str(target), " 4"):
        assert part in str(caught.value)


def test_blank_pairs_are_dropped_and_the_rest_stay_aligned(tmp_path: Path) -> None:
    sources = [f"source {i}" for i in range(1, 11)]
    targets = [f"target {i}" for i in range(1, 11)]
    sources[3], targets[6], sources[8], targets[8] = "", " \t\u2028", "", "\u3000"

    pairs = read_parallel(
        write(tmp_path / "source", "\r\n".join(sources) + "\r\n"),
        write(tmp_path / "target", "\n".join(targets)),
    )

    kept = [1, 2, 3, 5, 6, 8, 10]
    assert pairs.sources == [f"source {i}" for i in kept]
    assert pairs.targets == [f"target {i}" for i in kept]
    assert pairs.dropped == {"blank source": 1, "blank target": 1, "blank both": 1}
    assert len(pairs) == 7
    assert str(tmp_path / "source") in pairs.origin


def test_empty_files_give_no_pairs(tmp_path: Path) -> None:
    empty = write(tmp_path / "empty", "")

    pairs = read_parallel(empty, empty)

    assert (len(pairs), pairs.dropped) == (0, {})


def test_messages_never_drive_a_terminal(tmp_path: Path) -> None:
    path = write(tmp_path / "\x1b[31mred", b"\x92")

    for read in (lambda: read_lines(path), lambda: read_parallel(path.parent / "\x1b", path)):
        with pytest.raises(DataError) as caught:
            read()
        assert "\x1b" not in str(caught.value)
