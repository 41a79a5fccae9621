"""What generation writes with is told with the form to write for what others call off."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builder.errors import Problem

Refuse = Callable[..., list[Problem]]


@pytest.mark.parametrize("token", ["5", "true", "~", "''", "[a]"])
def test_a_suppressed_token_that_is_no_text_is_told_by_itself(refuse: Refuse, token: str) -> None:
    [problem] = refuse(f"generation: {{suppress_tokens: [a, {token}, b]}}")
    assert problem.path == "generation.suppress_tokens[1]"
    assert "a list" not in problem.message.partition("allowed: ")[2]


def test_zero_is_told_what_to_write_for_it(refuse: Refuse) -> None:
    for key, right in {"temperature": "`kind: greedy`", "top_k": "leave it out"}.items():
        [problem] = refuse(f"generation: {{kind: sampling, {key}: 0}}")
        assert right in problem.message


def test_one_number_for_the_longest_output_is_told_how_to_write_it(refuse: Refuse) -> None:
    [problem] = refuse("generation: {max_length: 50}")
    assert problem.path == "generation.max_length"
    assert "`{ratio: 0, plus: 50}`" in problem.message
