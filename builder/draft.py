"""A table of pairs into a blueprint that suits it, with the reason of each choice."""

from __future__ import annotations

import os
import re
import shlex
import unicodedata
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from builder.blueprint.data import Columns
from builder.blueprint.template import NUMBERED, Draft, Files, Pieces, Size, write_draft
from builder.data.header import is_header
from builder.data.pairs import Pairs
from builder.data.table import read_table
from builder.errors import BlueprintError, DataError, Problem, printable
from builder.wording import counted

SIZES = (
    (20_000, Size(128, 2, 4, 512, 0.3, 1024, 10, 1000)),
    (200_000, Size(128, 3, 4, 512, 0.1, 2048, 20, 1000)),
    (2_000_000, Size(256, 4, 4, 1024, 0.1, 4096, 120, 4000)),
    (None, Size(512, 6, 8, 2048, 0.1, 8192, 600, 4000)),
)
"""The network for fewer pairs than these; sentences take the next one."""
BPE_ROWS = {128: 8_000, 256: 16_000, 512: 32_000}
"""Rows of a vocabulary of merged pieces, by d_model."""

SHORT, FEW_WORDS = 64, 4
"""Characters and words that short strings, such as names and dates, mostly stay within."""
SYMBOLS = 2_000
"""More different words than these are no closed set of symbols, such as phonemes."""
OFTEN = 20
"""Symbols of a closed set come up so many times each, on average."""
ALIKE = 0.9
"""The share of the target that the source's vocabulary must hold for the two to be one."""
VALID_PAIRS = 2_000

NAME = re.compile(r"[^\W_][\w.-]{0,59}")


@dataclass(frozen=True)
class Side:
    """The lines of one side, as the tokenizers will see them."""

    lines: list[str]

    @cached_property
    def characters(self) -> Counter[str]:
        """How often each character comes up."""
        return Counter(character for line in self.lines for character in line)

    @cached_property
    def words(self) -> Counter[str]:
        """How often each word comes up."""
        return Counter(word for line in self.lines for word in line.split())

    def lengths(self, kind: str) -> np.ndarray:
        """The length of each line in tokens, EOS counted; the most there can be for `bpe`."""
        sizes = (len(line.split()) if kind == "word" else len(line) for line in self.lines)
        return np.fromiter(sizes, np.int64, len(self.lines)) + 1

    def units(self, kind: str) -> Counter[str]:
        """What a vocabulary of this kind is made of."""
        return self.words if kind == "word" else self.characters


def draft_blueprint(table: Path | None = None, *, out: Path | None = None) -> str:
    """The text of a commented blueprint, to be written to `out`; it is valid.

    Without a `table` it is one to fill in. With one, columns 1 and 2 of it are measured, and
    tokenizers, sizes and limits follow from what was found.

    Raises:
        DataError: The table cannot be read, or holds no pair.
    """
    if table is None:
        return write_draft(Draft(name=_name(out)) if out else Draft())
    pairs, columns = _read(table)
    if not len(pairs):
        raise DataError(f"{printable(table)}: 0 pairs in columns 1 and 2")
    folder = out.parent if out else Path()
    return write_draft(_choose(pairs, table, _files(table, folder, len(pairs), columns), out))


def write_new(path: Path, text: str) -> None:
    """Write a file that must not exist yet.

    Raises:
        BlueprintError: It exists, or cannot be written.
    """
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        exists = isinstance(error, FileExistsError)
        reason = "exists already; it stays as it is" if exists else str(error.strerror).lower()
        raise BlueprintError([Problem(reason, file=str(path.absolute()))]) from None


def _read(table: Path) -> tuple[Pairs, Columns]:
    """The pairs of columns 1 and 2, and what to call these: names where the first line has any."""
    pairs = read_table(table, 1, 2)
    if not is_header(pairs):
        return pairs, NUMBERED
    columns = Columns(source=pairs.sources[0], target=pairs.targets[0])
    try:
        return read_table(table, columns.source, columns.target), columns
    except DataError:  # two columns are called alike, or lines stand above the header
        return pairs, NUMBERED


def _choose(pairs: Pairs, table: Path, files: Files, out: Path | None) -> Draft:
    source, target = _side(pairs.sources), _side(pairs.targets)
    size = _size(len(pairs), sentences="bpe" in (_kind(source), _kind(target)))
    rows = BPE_ROWS[size.d_model]
    pieces = _pieces(source, rows), _pieces(target, rows)
    shared = pieces[0].kind == pieces[1].kind and _alike(source, target, pieces[0].kind)
    if shared:
        pieces = (_pieces(Side([*source.lines, *target.lines]), rows),) * 2
    limits, limits_why = _limits(source, target, pieces)
    batch = max(size.batch_tokens, 4 * limits[1])
    short = pieces[1].kind != "bpe"
    return Draft(
        name=_name(out or table),
        head=_head(pairs, table, files.columns, (source, target)),
        size=replace(
            size, batch_tokens=batch, why=f"sizes that suit {counted(len(pairs), 'pair')}"
        ),
        source=pieces[0],
        target=pieces[1],
        shared=shared,
        shared_why="one vocabulary for both sides" if shared else "two vocabularies",
        files=files,
        max_length=limits,
        max_length_why=limits_why,
        metric="exact_match" if short else "bleu",
        metric_why="the share of outputs that are right" if short else "or chrf, or loss",
        plus=_plus(source, target, pieces),
    )


def _side(lines: list[str]) -> Side:
    return Side([" ".join(unicodedata.normalize("NFC", line).split()) for line in lines])


def _head(pairs: Pairs, table: Path, columns: Columns, sides: tuple[Side, Side]) -> tuple[str, ...]:
    def about(name: str, side: Side) -> str:
        lengths = side.lengths("char") - 1
        words = sum(side.words.values()) / len(side.lines)
        return (
            f"{name}: {counted(len(side.characters), 'different character')}; lines of "
            f"{int(np.median(lengths)):,} (median) to {counted(int(lengths.max()), 'character')}, "
            f"{words:.1f} words on average, {len(side.words):,} different ones"
        )

    dropped = sum(pairs.dropped.values())
    blank = f", and {dropped:,} with a blank side" if dropped else ""
    has_header = isinstance(columns.source, str)
    places = "below the header, its first line" if has_header else "in columns 1 and 2"
    names = [f"`{printable(side[0])}`" for side in (pairs.sources, pairs.targets)]
    doubt = f"Its first line, {', '.join(names)}, looks like a header; it is taken for a pair."
    return (
        f"Made for {printable(table.name)}: {counted(len(pairs), 'pair')} {places}{blank}.",
        *([doubt] if is_header(pairs) else []),
        about("source", sides[0]),
        about("target", sides[1]),
    )


def _size(pairs: int, *, sentences: bool) -> Size:
    place = next(i for i, (bound, _) in enumerate(SIZES) if bound is None or pairs < bound)
    return SIZES[min(place + sentences, len(SIZES) - 1)][1]


def _kind(side: Side) -> str:
    """Words of a closed set, characters of short lines, and merged pieces for the rest."""
    words, total, lines = len(side.words), sum(side.words.values()), len(side.lines)
    if words <= SYMBOLS and total >= OFTEN * words and total > lines:
        return "word"
    is_short = _most(side) <= SHORT and total < FEW_WORDS * lines
    return "char" if is_short else "bpe"


def _most(side: Side) -> int:
    """Characters that 95 % of the lines stay within."""
    return int(np.quantile(side.lengths("char") - 1, 0.95))


def _pieces(side: Side, rows: int) -> Pieces:
    kind, words, characters = _kind(side), len(side.words), len(side.characters)
    if kind == "word":
        return Pieces(kind, why=f"a closed set: {counted(words, 'different word')}")
    rows = min(rows, words) // 100 * 100  # each word can become a piece, so this many exist
    if kind == "bpe" and rows >= 2 * characters:
        most = counted(_most(side), "character")
        return Pieces(kind, rows, f"95 % of the lines have up to {most}")
    why = f"{characters:,} different ones; 95 % of the lines have up to {_most(side):,}"
    return Pieces("char", why=why)


def _alike(source: Side, target: Side, kind: str) -> bool:
    """Whether nearly all of the target is made of what the source is made of."""
    known, units = source.units(kind), target.units(kind)
    inside = sum(count for unit, count in units.items() if unit in known)
    return inside >= ALIKE * sum(units.values())


def _limits(
    source: Side, target: Side, pieces: tuple[Pieces, Pieces]
) -> tuple[tuple[int, int], str]:
    """The longest sequences to train on: the longest there are, but for rare giants."""
    lengths = source.lengths(pieces[0].kind), target.lengths(pieces[1].kind)
    limits = []
    for side in lengths:
        longest = min(int(side.max()), max(SHORT, 4 * int(np.quantile(side, 0.95))))
        limits.append(-(-longest // 16) * 16)
    left_out = int(((lengths[0] > limits[0]) | (lengths[1] > limits[1])).sum())
    found = f"in tokens; the longest lines have {lengths[0].max():,} and {lengths[1].max():,}"
    if "bpe" in (pieces[0].kind, pieces[1].kind):
        found = "in tokens, of which a line has no more than characters"
    left = f"; left out: {counted(left_out, 'longer pair')}" if left_out else ""
    return (limits[0], limits[1]), found + left


def _plus(source: Side, target: Side, pieces: tuple[Pieces, Pieces]) -> int:
    """Room for every target that is longer than its source."""
    if pieces[1].kind == "bpe":
        return 50
    longer = target.lengths(pieces[1].kind) - source.lengths(pieces[0].kind)
    return max(10, -(-int(longer.max()) // 10) * 10)


def _files(table: Path, folder: Path, pairs: int, columns: Columns) -> Files:
    """The tables to name: those that lie beside `table`, or ones to be made of it."""
    beside = _beside(table, ("valid", "dev", "val"))[:1]
    tests = _beside(table, ("test",))
    found = {"valid": beside, "test": tests}
    files = Files(
        train=_relative(table, folder),
        valid="".join(_relative(path, folder) for path in beside),
        test="".join(_relative(path, folder) for path in tests),
        columns=columns,
        headless=frozenset(
            split for split, paths in found.items() for path in paths if _lacks(path, columns)
        ),
    )
    if beside:
        why = f"{printable(beside[0].name)} lies beside {printable(table.name)}."
        return replace(files, why=(why,))
    train, valid = (
        table.with_name(f"{table.stem}.{part}{table.suffix}") for part in ("train", "valid")
    )
    every = max(10, pairs // VALID_PAIRS)
    old, learn, measure = (shlex.quote(printable(path.name)) for path in (table, train, valid))
    header = "NR==1 || " if isinstance(columns.source, str) else ""
    rules = (f"'{header}NR % {every}'", learn), (f"'{header}NR % {every} == 0'", measure)
    why_new = (
        "Pairs to measure on must not be among those to learn from: make both files, once, with",
        "; ".join(f"awk {rule} {old} > {new}" for rule, new in rules),
    )
    return replace(
        files, train=_relative(train, folder), valid=_relative(valid, folder), why=why_new
    )


def _lacks(path: Path, columns: Columns) -> bool:
    """Whether a table lacks the header that columns by name want."""
    if columns == NUMBERED:
        return False
    try:
        read_table(path, columns.source, columns.target)
    except DataError:
        return True
    return False


def _beside(table: Path, words: tuple[str, ...]) -> list[Path]:
    """The tables of another split that lie there, by how they are usually called."""
    has_part = "train" in table.name
    names = [
        table.name.replace("train", word) if has_part else f"{table.stem}.{word}{table.suffix}"
        for word in words
    ]
    return [path for path in map(table.with_name, names) if path.is_file()]


def _relative(path: Path, folder: Path) -> str:
    return os.path.relpath(path.absolute(), folder.absolute())


def _name(path: Path) -> str:
    """A name for the blueprint; that of the file where it can be one."""
    name = re.sub(r"[._-]?train$", "", path.name.split(".")[0])
    return name if NAME.fullmatch(name) else Draft.name
