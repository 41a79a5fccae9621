from __future__ import annotations

from pathlib import Path

import pytest

from builder.data.table import Column, read_table
from builder.errors import DataError

ROWS = 'word\tnote\tphones\nnaïve\tx\tn a\n"quoted\t\tk w\r\nthird\ty\tθ\textra\n'


def table(tmp_path: Path, text: str | bytes = ROWS) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(("source", "target"), [("word", "phones"), ("word", 3), (1, "phones")])
def test_a_name_makes_the_first_line_a_header(
    tmp_path: Path, source: Column, target: Column
) -> None:
    pairs = read_table(table(tmp_path), source, target)

    assert pairs.sources == ["naïve", '"quoted', "third"]
    assert pairs.targets == ["n a", "k w", "θ"]


def test_numbers_count_from_one_without_a_header(tmp_path: Path) -> None:
    pairs = read_table(table(tmp_path), 3, 1)

    assert pairs.sources == ["phones", "n a", "k w", "θ"]
    assert pairs.targets == ["word", "naïve", '"quoted', "third"]


def test_a_byte_order_mark_is_not_part_of_the_first_name(tmp_path: Path) -> None:
    assert read_table(table(tmp_path, "\ufeffa\tb\r\n1\t2\r\n"), "a", "b").targets == ["2"]


def test_blank_cells_and_lines_are_dropped_and_counted(tmp_path: Path) -> None:
    pairs = read_table(table(tmp_path, "a\tb\n\tb\na\t \n\n \t\nc\td\n"), 1, 2)

    assert (pairs.sources, pairs.targets) == (["a", "c"], ["b", "d"])
    assert pairs.dropped == {"blank source": 1, "blank target": 1, "blank both": 2}


@pytest.mark.parametrize("column", [1, "a"])
def test_an_empty_table_gives_no_pairs(tmp_path: Path, column: Column) -> None:
    assert len(read_table(table(tmp_path, ""), column, column)) == 0


@pytest.mark.parametrize(
    ("source", "target", "line"),
    [("word", "phone", 1), ("w", "phones", 1), ("word", 4, 2), (1, 4, 1), (2, 40, 1)],
)
def test_a_missing_column_is_named_with_its_line(
    tmp_path: Path, source: Column, target: Column, line: int
) -> None:
    path = table(tmp_path)

    with pytest.raises(DataError) as caught:
        read_table(path, source, target)

    assert str(caught.value).startswith(f"{path}:{line}: ")
    if isinstance(target, str):
        assert all(name in str(caught.value) for name in ("word", "note", "phones"))


def test_a_short_line_is_named(tmp_path: Path) -> None:
    path = table(tmp_path, "a\tb\n1\t2\nalone\n")

    with pytest.raises(DataError) as caught:
        read_table(path, "a", "b")

    assert str(caught.value).startswith(f"{path}:3: ")


@pytest.mark.parametrize(("text", "column"), [("a\ta\n1\t2\n", "a"), ("a\tb\n", 0)])
def test_a_column_that_is_not_one_is_refused(tmp_path: Path, text: str, column: Column) -> None:
    with pytest.raises(DataError):
        read_table(table(tmp_path, text), column, 2)


def test_byte_rules_are_those_of_text_files(tmp_path: Path) -> None:
    path = table(tmp_path, b"a\tb\nit\x92s\tb\n")

    with pytest.raises(DataError) as caught:
        read_table(path, 1, 2)

    assert str(caught.value).startswith(f"{path}:2: ")
