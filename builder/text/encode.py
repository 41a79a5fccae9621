"""Lines into the ids that a model reads: the same rules in PyTorch and in the runtime."""

from __future__ import annotations

from collections.abc import Sequence

from builder.errors import DataError
from builder.text.tokenizer import TextTokenizer


def encode_lines(
    tokenizer: TextTokenizer,
    lines: Sequence[str],
    *,
    limit: int | None,
    first_line: int = 1,
    noun: str = "line",
) -> list[list[int]]:
    """Ids of each line, EOS at the end; none at all for a line without text.

    `limit` is the longest that the model reads, in tokens with EOS. Messages name a line by `noun`
    and its number, which is `first_line` for the first.

    Raises:
        DataError: A line is longer than `limit`, or no Unicode text.
    """
    encoded = tokenizer.encode(lines, first_line=first_line, noun=noun)
    for number, ids in enumerate(encoded, start=first_line):
        check_length(len(ids), limit, f"{noun} {number}")
    return [ids if len(ids) > 1 else [] for ids in encoded]  # EOS alone is an empty line


def check_length(tokens: int, limit: int | None, place: str) -> None:
    """Refuse a line of more tokens than the model has positions.

    Raises:
        DataError: It is longer than `limit`.
    """
    if limit is not None and tokens > limit:
        raise DataError(f"{place}: {tokens} tokens, and the model has {limit} positions")


def encode_pairs(
    tokenizers: tuple[TextTokenizer, TextTokenizer],
    pairs: Sequence[tuple[str, str]],
    *,
    limit: int | None,
    first_line: int = 1,
    noun: str = "line",
) -> list[tuple[list[int], list[int]]]:
    """Ids of the source and of the target of each pair, EOS at the end of both.

    `tokenizers` are those of source and target; a source without text has no ids.

    Raises:
        DataError: As `encode_lines`, or a source without text has a target.
    """
    source, target = tokenizers
    sources = encode_lines(
        source, [one for one, _ in pairs], limit=limit, first_line=first_line, noun=noun
    )
    targets = target.encode([other for _, other in pairs], first_line=first_line, noun=noun)
    for number, (ids, others) in enumerate(zip(sources, targets, strict=True), first_line):
        if not ids and len(others) > 1:
            raise DataError(f"{noun} {number}: an empty source, whose only output is an empty one")
    return list(zip(sources, targets, strict=True))
