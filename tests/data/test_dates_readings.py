from __future__ import annotations

from collections import defaultdict
from functools import cache

import pytest

from builder.data.dates_readings import Reader, calendar, fold
from builder.data.dates_styles import Day, all_styles


@cache
def reader() -> Reader:
    return Reader(all_styles())


@pytest.mark.parametrize(
    "text",
    [
        *("01/02/2021", "1/2/2021", "02-01-2021", "01/02/21", "9/8/1999"),
        *("3 listopada 2021", "03 Listopada 1950", "5 lis 2021", "5 srp 1999", "5-LIS-2021"),
    ],
)
def test_two_days_in_one_string_are_ambiguous(text: str) -> None:
    assert reader().is_ambiguous(text)


@pytest.mark.parametrize(
    "text",
    [
        *("03/03/2021", "13/02/2021", "02/13/2021", "2021-02-01", "01.02.2021", "13/02/21"),
        *("31/12/99", "3 listopada 2021.", "3. listopada 2021.", "March 3, 2021"),
        *("31/31/2021", "30/02/2021", "not a date", ""),
    ],
)
def test_one_day_or_none_is_not_ambiguous(text: str) -> None:
    assert not reader().is_ambiguous(text)


def test_a_weekday_can_settle_the_month() -> None:
    november = calendar()[2021, 11, 3]
    in_november = [style.write(november) for style in all_styles()]

    assert "środa, 3 listopada 2021" in in_november
    assert not reader().is_ambiguous("środa, 3 listopada 2021")


def test_no_reading_is_missed() -> None:
    meanings: defaultdict[str, set[Day]] = defaultdict(set)
    days = [day for day in calendar().values() if 2001 <= day.year <= 2004]
    for style in all_styles():
        for day in days:
            meanings[fold(str(style.write(day)))].add(day)

    ambiguous = [text for text, meant in meanings.items() if len(meant) > 1]

    assert len(ambiguous) > 1000
    assert all(reader().is_ambiguous(text) for text in ambiguous)
