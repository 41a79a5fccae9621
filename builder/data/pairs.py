"""Pairs of lines: what every source of data gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Pairs:
    """Sources and targets that belong together, line by line; neither side is blank."""

    sources: list[str]
    targets: list[str]
    dropped: dict[str, int] = field(default_factory=dict)
    """Pairs left out, counted by reason."""
    origin: str = ""
    """The files or the built-in set they come from."""
    note: str = ""
    """What else a log should say of them."""

    def __len__(self) -> int:
        return len(self.sources)


def without_blanks(pairs: Iterable[tuple[str, str]], origin: str) -> Pairs:
    """Drop each pair with a side that holds only white space, and count it."""
    sources: list[str] = []
    targets: list[str] = []
    dropped: Counter[str] = Counter()
    for source, target in pairs:
        if not _blank(source) and not _blank(target):
            sources.append(source)
            targets.append(target)
        elif _blank(source):
            dropped["blank both" if _blank(target) else "blank source"] += 1
        else:
            dropped["blank target"] += 1
    return Pairs(sources, targets, dict(dropped), origin)


def _blank(line: str) -> bool:
    return not line.replace("\ufeff", "").strip()
