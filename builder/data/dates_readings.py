"""Strings into the days they can mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from functools import cache
from itertools import product
from typing import NamedTuple

from builder.data.dates_styles import FIRST_YEAR, LAST_YEAR, Day, Field, Style

_FOLD = str.maketrans("\u00a0\u2009\u202f", "   ")
_ANY = -1
"""The weekday of a string that names none."""
_SHAPE = str.maketrans("123456789", "000000000")


class Slot(NamedTuple):
    """A stretch of a string that says one thing about the day."""

    place: int
    """Of its value in `Day`."""
    start: int
    stop: int
    values: Mapping[str, int]
    """The value that each text means."""


Reading = tuple[Slot, ...]
"""Where in a string of some shape the fields stand."""


@cache
def calendar() -> dict[tuple[int, int, int], Day]:
    """Every day of the set by year, month and day, in order."""
    first, last = date(FIRST_YEAR, 1, 1), date(LAST_YEAR, 12, 31)
    days = (first + timedelta(n) for n in range((last - first).days + 1))
    return {(d.year, d.month, d.day): Day(d.year, d.month, d.day, d.weekday()) for d in days}


def fold(text: str) -> str:
    """`text` as it is compared: in lower case, with plain spaces, as a tokenizer may see it."""
    return text.lower().translate(_FOLD)


class Reader:
    """What any string means in a set of styles.

    Strings that differ in their digits only are read in the same ways; these are found once.
    """

    def __init__(self, styles: Iterable[Style]) -> None:
        found: defaultdict[str, dict[object, Reading]] = defaultdict(dict)
        for style in styles:
            for shape, slots in _readings(style):
                key = tuple((slot.place, slot.start, id(slot.values)) for slot in slots)
                found[shape][key] = slots
        self._readings = {shape: tuple(readings.values()) for shape, readings in found.items()}

    def is_ambiguous(self, text: str) -> bool:
        """Whether two styles read `text` as two different days."""
        folded = fold(text)
        readings = self._readings.get(folded.translate(_SHAPE), ())
        if len(readings) < 2:
            return False
        days = {_read(folded, slots) for slots in readings}
        return len(days - {None}) > 1


def _read(folded: str, slots: Reading) -> Day | None:
    """The day that `slots` find in a string; None where there is no such day."""
    said = [0, 0, 0, _ANY]
    for place, start, stop, values in slots:
        value = values.get(folded[start:stop])
        if value is None:
            return None
        said[place] = value
    year, month, day, weekday = said
    found = calendar().get((year, month, day))
    return None if found is None or weekday not in (_ANY, found.weekday) else found


def _readings(style: Style) -> Iterator[tuple[str, Reading]]:
    """Each shape that `style` writes, and where in it the fields stand."""
    variants: list[list[tuple[str, Mapping[str, int]]]] = [
        [(fold(part), {})] if isinstance(part, str) else list(_by_shape(part).items())
        for part in style.parts
    ]
    for chosen in product(*variants):
        slots = []
        start = 0
        for part, (shape, values) in zip(style.parts, chosen, strict=True):
            stop = start + len(shape)
            if isinstance(part, Field):
                slots.append(Slot(part.place, start, stop, values))
            start = stop
        yield "".join(shape for shape, _ in chosen), tuple(slots)


@cache
def _by_shape(field: Field) -> dict[str, Mapping[str, int]]:
    """The values of `field` by folded text, sorted by shape; equal ones are one object."""
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for value, text in field.texts.items():
        folded = fold(text)
        found[folded.translate(_SHAPE)][folded] = value
    return {shape: _values(tuple(values.items())) for shape, values in found.items()}


@cache
def _values(items: tuple[tuple[str, int], ...]) -> Mapping[str, int]:
    return dict(items)
