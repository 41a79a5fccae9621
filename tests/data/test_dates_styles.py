from __future__ import annotations

import subprocess
import sys
from datetime import date

import pytest
from babel import Locale
from babel.dates import format_date

from builder.data.dates_readings import calendar
from builder.data.dates_styles import CLDR_LENGTHS, LOCALES, Day, all_styles, babel_version

DAYS = [date(1985, 5, 9), date(2021, 3, 3), date(1970, 12, 31), date(2069, 10, 20)]


def texts(day: date) -> set[str | None]:
    found = calendar()[day.year, day.month, day.day]
    return {style.write(found) for style in all_styles()}


@pytest.mark.parametrize("code", LOCALES)
def test_dates_are_written_as_babel_writes_them(code: str) -> None:
    locale = Locale.parse(code)

    for day in DAYS:
        ours = texts(day)
        for length in CLDR_LENGTHS:
            theirs = format_date(day, format=length, locale=locale)
            assert theirs in ours
            assert theirs.lower() in ours


@pytest.mark.parametrize(
    "text",
    [
        *("3/3/2021", "03/03/2021", "3.3.21", "03-03-21", "3 3 2021", "2021-03-03", "2021/3/3"),
        *("Wed, Mar 3, 2021", "march 3 2021", "mercredi 3 mars 2021", "2021. március 3."),
        *("3 de março de 2021", "mercredi, 3 mars 2021", "Çarşamba 3 Mart 2021", "3-Mar-2021"),
        *("3 mars 2021", "Mittwoch, 3 März 2021", "3. maaliskuuta 2021", "2021-3-3", "3 März 21"),
    ],
)
def test_dates_are_written_as_people_type_them(text: str) -> None:
    assert text in texts(date(2021, 3, 3))


@pytest.mark.parametrize("day", [date(1969, 12, 31), date(2070, 1, 1), date(1900, 2, 28)])
def test_two_digits_stand_for_the_years_from_1970_to_2069_only(day: date) -> None:
    for text in texts(day) - {None}:
        assert str(day.year) in str(text)


def test_the_calendar_holds_every_day_of_two_centuries() -> None:
    days = list(calendar().values())

    assert (days[0], days[-1]) == (Day(1900, 1, 1, 0), Day(2099, 12, 31, 3))
    assert len(days) == (date(2100, 1, 1) - date(1900, 1, 1)).days


def test_each_locale_has_several_styles_and_no_style_comes_twice() -> None:
    styles = all_styles()

    assert len(LOCALES) >= 18
    assert len(styles) == len(set(styles)) > 10 * len(LOCALES)


def test_babel_is_loaded_when_dates_are_made() -> None:
    code = "import sys, builder.data.dates; print('babel' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


def test_a_missing_babel_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "babel", None)

    for needs_babel in (babel_version, all_styles.__wrapped__):
        with pytest.raises(ModuleNotFoundError, match="babel"):
            needs_babel()
