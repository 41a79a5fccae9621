"""CLDR's locale data into styles: the ways in which people write a date."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from babel import Locale

FIRST_YEAR, LAST_YEAR = 1900, 2099
SHORT_YEARS = range(1970, 2070)
"""Years that two digits stand for."""

LOCALES = (
    *("cs", "da", "de", "en_GB", "en_US", "es", "fi", "fr", "hr"),
    *("hu", "id", "it", "nl", "pl", "pt", "ro", "sv", "tr"),
)
CLDR_LENGTHS = ("short", "medium", "long", "full")

TYPED_NUMBERS = {
    "dMy": (
        *("d/M/y", "dd/MM/y", "d.M.y", "dd.MM.y", "d-M-y", "dd-MM-y", "d M y", "dd MM y"),
        *("d/M/yy", "dd/MM/yy", "d.M.yy", "dd.MM.yy", "d-M-yy", "dd-MM-yy", "d. M. y"),
    ),
    "Mdy": (
        *("M/d/y", "MM/dd/y", "M-d-y", "MM-dd-y"),
        *("M/d/yy", "MM/dd/yy", "M-d-yy", "MM-dd-yy"),
    ),
    "yMd": ("y-MM-dd", "y-M-d", "y/MM/dd", "y/M/d", "y.MM.dd", "y.M.d", "y MM dd", "y. M. d."),
}
"""Patterns people type, by the order of a locale's own fields. Of years with two digits first
there are none: they would make most short dates unreadable."""
TYPED_NAMES = {
    "dMy": (
        *("d MMMM y", "dd MMMM y", "d MMM y", "dd MMM y", "d-MMM-y", "d MMM yy"),
        *("EEEE d MMMM y", "EEEE, d MMMM y", "E d MMM y", "E, d MMM y"),
    ),
    "Mdy": (
        *("MMMM d y", "MMMM d, y", "MMM d y", "MMM d, y", "d MMMM y", "d MMM y", "d-MMM-y"),
        *("EEEE, MMMM d, y", "EEEE MMMM d y", "E, MMM d, y", "E MMM d y"),
    ),
    "yMd": ("y MMMM d", "y. MMMM d.", "y MMM d", "y. MMM d.", "y MMMM d, EEEE", "y MMM d, E"),
}
ISO = "y-MM-dd"

YEAR, MONTH, DAY, WEEKDAY = range(4)
NUMBERS: dict[str, tuple[int, Sequence[int], Callable[[int], str]]] = {
    "d": (DAY, range(1, 32), str),
    "dd": (DAY, range(1, 32), "{:02}".format),
    "M": (MONTH, range(1, 13), str),
    "MM": (MONTH, range(1, 13), "{:02}".format),
    "y": (YEAR, range(FIRST_YEAR, LAST_YEAR + 1), str),
    "yy": (YEAR, SHORT_YEARS, lambda year: f"{year % 100:02}"),
}
_TOKEN = re.compile(r"'(?P<quoted>[^']*)'|(?P<field>(?P<letter>[dMLyEc])(?P=letter)*)|[^dMLyEc']+")


class Day(NamedTuple):
    """A day as its fields see it."""

    year: int
    month: int
    day: int
    weekday: int
    """Monday is 0."""


@dataclass(frozen=True, eq=False)
class Field:
    """A part of a style that says one thing about the day."""

    place: int
    """Of its value in `Day`."""
    texts: Mapping[int, str]
    """What is written for each value; a year that the style cannot write is not there."""


@dataclass(frozen=True)
class Style:
    """One way to write a date, in one language: literal text and fields in their order."""

    parts: tuple[str | Field, ...]

    def write(self, day: Day) -> str | None:
        """The text of `day`; None where two digits cannot stand for its year."""
        try:
            return "".join(
                [
                    part if isinstance(part, str) else part.texts[day[part.place]]
                    for part in self.parts
                ]
            )
        except KeyError:
            return None

    def lower(self) -> Style:
        """The same style in lower case; equal to it where nothing changes."""
        return Style(
            tuple(
                part.lower()
                if isinstance(part, str)
                else _field(part.place, tuple((v, t.lower()) for v, t in part.texts.items()))
                for part in self.parts
            )
        )


@cache
def all_styles() -> tuple[Style, ...]:
    """Every style of every locale, each once: as CLDR has it and as people type it.

    Raises:
        ModuleNotFoundError: Babel is not installed.
    """
    locales = map(_babel().Locale.parse, LOCALES)
    styles = [style for locale in locales for style in _styles(locale)]
    return tuple(dict.fromkeys(both for style in styles for both in (style, style.lower())))


def babel_version() -> str:
    """The version of what the locale data comes with, such as `Babel 2.17.0`."""
    return f"Babel {_babel().__version__}"


def _babel() -> ModuleType:
    import babel

    return babel


def _styles(locale: Locale) -> Iterator[Style]:
    """The styles of one locale."""
    formats = [locale.date_formats[length].pattern for length in CLDR_LENGTHS]
    for pattern in formats:
        yield _compile(pattern, locale, typed=False)
    short, _, long, _ = formats
    for pattern in (ISO, *TYPED_NUMBERS[_order(short)], *TYPED_NAMES[_order(long)]):
        yield _compile(pattern, locale, typed=True)


def _order(pattern: str) -> str:
    """Year, month and day of `pattern` in their order, such as `dMy`."""
    letters = (found["letter"] for found in _TOKEN.finditer(pattern))
    return "".join(letter for letter in letters if letter in tuple("dMy"))


def _compile(pattern: str, locale: Locale, *, typed: bool) -> Style:
    """A CLDR pattern in the words of `locale`; typed abbreviations have no full stop."""
    parts = [
        _named(found["field"], locale, typed=typed) if found["field"] else _literal(found)
        for found in _TOKEN.finditer(pattern)
    ]
    return Style(tuple(parts))


def _literal(found: re.Match[str]) -> str:
    """Text that stands for itself; two quotes are one."""
    return found[0] if found["quoted"] is None else found["quoted"] or "'"


def _named(letters: str, locale: Locale, *, typed: bool) -> Field:
    """The field that CLDR writes as `letters`: a number, or a name in its context and width."""
    if letters in NUMBERS:
        place, values, spell = NUMBERS[letters]
        return _field(place, tuple((value, spell(value)) for value in values))
    place, names = (MONTH, locale.months) if letters[0] in "ML" else (WEEKDAY, locale.days)
    context = "format" if letters[0] in "ME" else "stand-alone"
    texts = names[context]["wide" if len(letters) == 4 else "abbreviated"]
    return _field(
        place, tuple((v, text.rstrip(".") if typed else text) for v, text in texts.items())
    )


@cache
def _field(place: int, texts: tuple[tuple[int, str], ...]) -> Field:
    """The one field with these texts, so that equal styles are equal."""
    return Field(place, dict(texts))
