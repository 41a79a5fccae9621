"""What is measured: every combination of network, batch, search, precision and threads."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass

from builder.text.control import EOS_ID
from engines.networks import BASE, BEAMS, CONTROL_IDS, PRECISIONS, SEARCHES, Size

BATCHES = (1, 8, 32)
SHORTEST, LONGEST = 16, 32
"""Tokens of a source, EOS counted."""
LIMIT = 32
"""Tokens of an output."""


@dataclass(frozen=True)
class Cell:
    """One row of the table."""

    size: Size
    precision: str
    search: str
    threads: int
    ending: str
    batch: int

    @property
    def beams(self) -> int:
        """Hypotheses side by side."""
        return BEAMS if self.search == "beam" else 1

    @property
    def limit(self) -> int:
        """Tokens that every output has, or may have: fewer where they take long."""
        slow = self.size is BASE and self.batch == max(BATCHES) and self.search == "beam"
        return LIMIT // 2 if slow else LIMIT

    @property
    def words(self) -> set[str]:
        """What `--only` can ask for."""
        threads = "1-thread" if self.threads == 1 else f"{self.threads}-threads"
        return {self.size.name, self.precision, self.search, threads, self.ending}

    def figures(self) -> dict[str, object]:
        """The cell as plain values."""
        return {
            "model": self.size.name,
            "batch": self.batch,
            "search": self.search,
            "precision": self.precision,
            "threads": self.threads,
            "lengths": self.ending,
        }


def cells(sizes: Sequence[Size], threads: Sequence[int]) -> list[Cell]:
    """List all cells, in an order in which little has to be loaded anew."""
    forced = itertools.product(sizes, PRECISIONS, SEARCHES, threads, ("forced",), BATCHES)
    natural = itertools.product(
        sizes, PRECISIONS, ("greedy",), threads[:1], ("natural",), BATCHES[1:]
    )
    return [Cell(*each) for each in (*forced, *natural)]


def draw_sources(vocab_size: int, batch: int) -> list[list[int]]:
    """Draw sources of different lengths; a larger batch begins with those of a smaller one."""
    generator = random.Random(2017)  # noqa: S311
    return [
        [
            *(generator.randrange(CONTROL_IDS, vocab_size) for _ in range(length - 1)),
            EOS_ID,
        ]
        for length in (generator.randint(SHORTEST, LONGEST) for _ in range(batch))
    ]
