from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from builder.errors import DataError
from builder.scoring import score_files
from builder.text.lines import LINES_AT_ONCE

WritePackage = Callable[..., Path]


def write(folder: Path, **lines: list[str]) -> list[Path]:
    paths = [folder / name for name in lines]
    for path, content in zip(paths, lines.values(), strict=True):
        path.write_text("".join(f"{line}\n" for line in content), encoding="utf-8")
    return paths


def test_every_line_has_its_score(write_choir: WritePackage, tmp_path: Path) -> None:
    count = LINES_AT_ONCE + 3
    files = write(tmp_path, source=["abc", ""] * count, target=["de", ""] * count)

    _, portions = score_files(write_choir(), *files)
    every = [
        (pair, one) for pairs, scored in portions for pair, one in zip(pairs, scored, strict=True)
    ]

    assert len(every) == 2 * count
    assert {pair: one.log_prob for pair, one in every} == {("abc", "de"): -3, ("", ""): 0}


def test_a_later_line_is_named_by_its_number(write_choir: WritePackage, tmp_path: Path) -> None:
    source = ["abc"] * 1200
    files = write(tmp_path, source=[*source, ""], target=[*source, "b"])

    _, portions = score_files(write_choir(), *files)
    with pytest.raises(DataError, match="line 1201: "):
        list(portions)


def test_files_of_other_lengths_are_refused(write_choir: WritePackage, tmp_path: Path) -> None:
    files = write(tmp_path, source=["a"] * 5, target=["a"] * 4)

    with pytest.raises(DataError, match=r"source has 5.*target has 4"):
        score_files(write_choir(), *files)
