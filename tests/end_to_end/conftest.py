"""A small task whose pairs any test may write to disk: letters in reverse."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

WORDS = ["".join(letters) for letters in itertools.product("abcdé", repeat=3)]
PAIRS = [(f"{word} {word[0]}", f"{word[0]} {word[::-1]}") for word in WORDS]


@pytest.fixture
def write_pairs() -> Callable[[Path], None]:
    """Write the pairs into a folder, as parallel files and as a TSV."""

    def write(folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        lines = {
            "pairs.source": [source for source, _ in PAIRS],
            "pairs.target": [target for _, target in PAIRS],
            "pairs.tsv": ["\t".join([*pair, "1"]) for pair in PAIRS],
        }
        for name, content in lines.items():
            (folder / name).write_text("\n".join(content) + "\n", encoding="utf-8")

    return write
