"""The built-in set `dates`: dates as people write them, and their ISO 8601 form."""

from __future__ import annotations

import hashlib
from functools import cache
from itertools import count
from typing import Literal

from builder.data.dates_readings import Reader, calendar
from builder.data.dates_styles import LOCALES, Day, all_styles, babel_version
from builder.data.pairs import Pairs

Split = Literal["train", "valid", "test"]

PAIRS: dict[Split, int] = {"train": 120_000, "valid": 5_000, "test": 10_000}
"""Strings in each split."""


def make_dates(split: Split) -> Pairs:
    """Strings of one split, as CLDR has them or as people type them, with their day in ISO 8601.

    Days are 1900-01-01 to 2099-12-31; a day's split follows from its SHA-256. Every string has
    one right answer: what any locale and style of the set reads as two days is in no split. So
    no string is in two splits, and the same call always gives the same pairs.

    Raises:
        ModuleNotFoundError: Babel is not installed.
    """
    styles, reader, days = all_styles(), _reader(), _days(split)
    kept: dict[str, str] = {}
    made = ambiguous = 0
    draws = count()
    while len(kept) < PAIRS[split]:
        draw = next(draws)
        day = days[_hash(f"{split} {draw}") % len(days)]
        text = styles[draw % len(styles)].write(day)
        if text is None:
            continue
        made += 1
        if reader.is_ambiguous(text):
            ambiguous += 1
        else:
            kept[text] = iso(day)
    note = (
        f"{babel_version()}, {len(LOCALES)} locales, {len(styles)} styles: {made} strings made, "
        f"{ambiguous} ambiguous, {made - ambiguous - len(kept)} repeated, {len(kept)} kept"
    )
    dropped = {"ambiguous": ambiguous} if ambiguous else {}
    return Pairs(list(kept), list(kept.values()), dropped, origin=f"dates, {split}", note=note)


def iso(day: Day) -> str:
    """`day` as ISO 8601 has it, such as 2021-03-09."""
    return f"{day.year:04}-{day.month:02}-{day.day:02}"


def split_of(day: Day) -> Split:
    """The split of `day`: 80 % train, 10 % valid, 10 % test, by the SHA-256 of its ISO form."""
    tenth = _hash(iso(day)) % 10
    return "train" if tenth < 8 else "valid" if tenth == 8 else "test"


def _hash(text: str) -> int:
    """The first eight bytes of the SHA-256 of `text`, as a number."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


@cache
def _reader() -> Reader:
    return Reader(all_styles())


def _days(split: Split) -> list[Day]:
    return [day for day in calendar().values() if split_of(day) == split]
