from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections import defaultdict
from datetime import date
from functools import cache
from typing import get_args

import pytest

from builder.data.dates import PAIRS, Split, iso, make_dates, split_of
from builder.data.dates_readings import calendar, fold
from builder.data.dates_styles import LOCALES, all_styles, babel_version
from builder.data.pairs import Pairs

SPLITS: tuple[Split, ...] = get_args(Split)


@cache
def made(split: Split) -> Pairs:
    return make_dates(split)


@pytest.mark.parametrize("split", SPLITS)
def test_each_split_has_its_size_and_each_string_once(split: Split) -> None:
    pairs = made(split)

    assert len(pairs.sources) == len(pairs.targets) == PAIRS[split]
    assert len(set(pairs.sources)) == PAIRS[split]


@pytest.mark.parametrize("split", SPLITS)
def test_targets_are_days_of_this_split(split: Split) -> None:
    for target in made(split).targets:
        day = date.fromisoformat(target)
        assert target == day.isoformat()
        assert 1900 <= day.year <= 2099
        assert split_of(calendar()[day.year, day.month, day.day]) == split


def test_no_string_is_in_two_splits_or_means_two_days() -> None:
    meanings: defaultdict[str, set[str]] = defaultdict(set)
    for split in SPLITS:
        for source, target in zip(made(split).sources, made(split).targets, strict=True):
            meanings[fold(source)].add(target)

    assert all(len(meant) == 1 for meant in meanings.values())


def test_kept_strings_have_one_reading_by_brute_force() -> None:
    written: defaultdict[str, set[str]] = defaultdict(set)
    for day in calendar().values():
        if 2001 <= day.year <= 2004:
            for style in all_styles():
                written[fold(str(style.write(day)))].add(iso(day))
    checked = 0
    for split in SPLITS:
        for source, target in zip(made(split).sources, made(split).targets, strict=True):
            if "2001" <= target < "2005":
                checked += 1
                assert written[fold(source)] == {target}

    assert checked > 1000


def test_ambiguous_forms_are_left_out() -> None:
    sources = [source for split in SPLITS for source in made(split).sources]
    numeric = (re.fullmatch(r"(\d\d?)[/-](\d\d?)[/-]\d{4}", source) for source in sources)
    swapped = [(int(found[1]), int(found[2])) for found in numeric if found]

    assert len(swapped) > 100
    assert all(first == second or max(first, second) > 12 for first, second in swapped)
    polish_or_croatian = re.compile(r"([012]?\d|30) listopada \d{4}")  # October has a 31st
    assert not any(polish_or_croatian.fullmatch(source) for source in sources)


def test_every_style_is_trained_on() -> None:
    trained = set(made("train").sources)
    days = [day for day in calendar().values() if split_of(day) == "train"]

    for style in all_styles():
        assert any(style.write(day) in trained for day in days)


def test_days_are_split_by_their_hash() -> None:
    counts = dict.fromkeys(SPLITS, 0)
    for day in calendar().values():
        counts[split_of(day)] += 1
    first = hashlib.sha256(b"1900-01-01").hexdigest()[:16]

    assert (
        split_of(calendar()[1900, 1, 1]) == (["train"] * 8 + ["valid", "test"])[int(first, 16) % 10]
    )
    for split, share in zip(SPLITS, (0.8, 0.1, 0.1), strict=True):
        assert counts[split] / len(calendar()) == pytest.approx(share, abs=0.01)


def test_another_process_makes_the_same_pairs() -> None:
    code = (
        "import hashlib; from builder.data.dates import make_dates; pairs = make_dates('valid');"
        "print(hashlib.sha256(repr((pairs.sources, pairs.targets)).encode()).hexdigest())"
    )
    ours = made("valid")

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )

    expected = hashlib.sha256(repr((ours.sources, ours.targets)).encode()).hexdigest()
    assert done.stdout.strip() == expected


@pytest.mark.parametrize("split", SPLITS)
def test_the_note_counts_what_was_made_and_kept(split: Split) -> None:
    pairs = made(split)

    assert pairs.note.startswith(babel_version())
    numbers = [int(n) for n in re.findall(r"\b\d+\b", pairs.note.removeprefix(babel_version()))]
    locales, styles, strings, ambiguous, repeated, kept = numbers
    assert (locales, styles) == (len(LOCALES), len(all_styles()))
    assert strings == ambiguous + repeated + kept
    assert kept == len(pairs)
    assert pairs.dropped == {"ambiguous": ambiguous}
    assert ambiguous > 0
