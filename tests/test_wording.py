from __future__ import annotations

import pytest

from builder.wording import counted


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 pairs"), (1, "1 pair"), (1.0, "1 pair"), (1.5, "1.5 pairs"), (2000, "2,000 pairs")],
)
def test_one_is_singular(number: float, text: str) -> None:
    assert counted(number, "pair") == text
