"""The values of a blueprint before validation, each with the place where it was written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from builder.errors import Problem, printable

KeyPath = tuple[str | int, ...]
"""The way from the root of a blueprint to a value: keys, and indices of lists."""

WIDEST_LINE = 200
"""Characters of a line that a message quotes."""


@dataclass(frozen=True, eq=False)
class Source:
    """A file, or a command-line flag, that holds values."""

    name: str
    lines: tuple[str, ...] = ()
    """The text, for carets; empty for a flag, which has no lines."""
    directory: Path | None = None
    """What relative paths start from; the working directory where None."""
    depth: int = 0
    """How many files extend this one, one through the other."""


@dataclass(frozen=True)
class Place:
    """Where a value stands: its key where it has one, else the value itself."""

    source: Source
    line: int
    """Counted from 1."""
    column: int
    """Counted from 1."""
    path: KeyPath = ()

    def problem(self, message: str, path: KeyPath | None = None) -> Problem:
        """A problem at this place; `path` names a key that is missing here."""
        shown = dotted(self.path if path is None else path)
        if self.is_flag:
            return Problem(message, shown, self.source.name)
        text = self.source.lines[self.line - 1] if self.line <= len(self.source.lines) else ""
        text = text[:WIDEST_LINE] if self.column <= WIDEST_LINE else ""
        return Problem(message, shown, self.source.name, self.line, self.column, text)

    @property
    def is_flag(self) -> bool:
        """Whether the value stands on the command line, not in a file."""
        return not self.source.lines

    def order(self) -> tuple[bool, int, int, int]:
        """A sort key: a base before what extends it, each in its order, flags last."""
        return (self.is_flag, -self.source.depth, self.line, self.column)


@dataclass(frozen=True)
class Scalar:
    """A text, number, truth value, or null."""

    place: Place
    value: str | int | float | bool | None
    text: str
    """As it was written."""


@dataclass(frozen=True)
class Mapping:
    """A section."""

    place: Place
    entries: dict[str, Node]


@dataclass(frozen=True)
class Sequence:
    """A list."""

    place: Place
    items: list[Node]


@dataclass(frozen=True)
class Broken:
    """A value that the reader already refused."""

    place: Place


Node = Scalar | Mapping | Sequence | Broken


def dotted(path: KeyPath) -> str:
    """The path as a user writes it: `data.train[0].source`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def without_indices(path: KeyPath) -> KeyPath:
    """The keys of the path: where it runs through a list, it stands for the whole."""
    return tuple(part for part in path if isinstance(part, str))


def is_blank(node: Node) -> bool:
    """Whether a key has no value, or null."""
    return isinstance(node, Scalar) and node.value is None


def raw(node: Node) -> Any:
    """The plain value; broken keys are left out, so that defaults hold."""
    match node:
        case Scalar(value=value):
            return value
        case Mapping(entries=entries):
            return {k: raw(v) for k, v in entries.items() if not isinstance(v, Broken)}
        case Sequence(items=items):
            return [raw(item) for item in items]
        case Broken():
            return None


def child(node: Node | None, key: str | int) -> Node | None:
    """What stands under `key`, if anything does; one value is as good as a list of one."""
    if isinstance(node, Mapping) and isinstance(key, str):
        return node.entries.get(key)
    if isinstance(node, Sequence) and isinstance(key, int) and key < len(node.items):
        return node.items[key]
    return None if isinstance(node, Sequence) or key != 0 else node


def descend(root: Node, path: KeyPath) -> tuple[Node, int]:
    """The deepest node on `path`, and how many of its keys were found."""
    node = root
    for depth, key in enumerate(path):
        below = child(node, key)
        if below is None:
            return node, depth
        node = below
    return node, len(path)


def walk(node: Node, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Node]]:
    """Every node with its path from `node`, parents first."""
    yield path, node
    if isinstance(node, Mapping):
        for key, below in node.entries.items():
            yield from walk(below, (*path, key))
    elif isinstance(node, Sequence):
        for index, below in enumerate(node.items):
            yield from walk(below, (*path, index))


def without(section: Mapping, gone: set[KeyPath], path: KeyPath = ()) -> Mapping:
    """The section, which stands at `path`, without the keys at the paths in `gone`."""
    entries = {
        key: without(node, gone, (*path, key)) if isinstance(node, Mapping) else node
        for key, node in section.entries.items()
        if (*path, key) not in gone
    }
    return replace(section, entries=entries)


def describe(node: Node) -> str:
    """What was found, for a message: short, and safe to print."""
    match node:
        case Scalar(value=str(value)):
            return f"the text {shorten(value, quote='`')}"
        case Scalar(value=None):
            return "nothing"
        case Scalar(text=text):
            return shorten(text)
        case Mapping():
            return "a section"
        case Sequence(items=items):
            return f"a list of {len(items)}"
        case Broken():
            return "a value that cannot be read"


def shorten(text: str, quote: str = "") -> str:
    """At most 40 characters of `text`, with nothing in them that would drive a terminal."""
    shown = printable(text)
    return f"{quote}{shown[:37]}…{quote}" if len(shown) > 40 else f"{quote}{shown}{quote}"
