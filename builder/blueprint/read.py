"""YAML text, read as YAML 1.2, into nodes that know their places."""

from __future__ import annotations

import math
import re
from typing import Any

import yaml

from builder.blueprint.nodes import (
    Broken,
    KeyPath,
    Mapping,
    Node,
    Place,
    Scalar,
    Sequence,
    Source,
    shorten,
)
from builder.blueprint.syntax import NO_SPACE, RUN_TOGETHER, syntax_problem
from builder.errors import BlueprintError, Problem

SIZE_LIMIT = 1_000_000
"""Characters of one blueprint."""
COPY_LIMIT = 10_000
"""Nodes that aliases may add, so that a small file cannot grow without bound."""
DEPTH_LIMIT = 30
"""Sections within sections."""

LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
UNREADABLE = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)

NULLS = frozenset({"", "~", "null", "Null", "NULL"})
BOOLEANS = {
    word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")
}
DECIMAL = re.compile(r"[-+]?[0-9]+")
OCTAL = re.compile(r"0o[0-7]+")
HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
REAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


class _Composer(yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader):  # type: ignore[misc]
    """PyYAML's composer, telling plain scalars from quoted ones and from tagged ones."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:  # noqa: ARG002
        """Name the form instead of guessing a type by YAML 1.1."""
        return "plain" if kind is yaml.ScalarNode and implicit[0] else "untagged"

    def descend_resolver(self, parent: Any, index: Any) -> None:
        """Nothing depends on the path."""

    def ascend_resolver(self) -> None:
        """Nothing depends on the path."""


def scalar_value(text: str) -> str | int | float | bool | None:
    """What a plain scalar means by the core schema of YAML 1.2 (section 10.3)."""
    if text in NULLS:
        return None
    if text in BOOLEANS:
        return BOOLEANS[text]
    for pattern, base in ((DECIMAL, 10), (OCTAL, 8), (HEXADECIMAL, 16)):
        if pattern.fullmatch(text):
            digits = text if base == 10 else text[2:]
            return int(digits, base) if len(digits) <= 400 else math.inf
    if REAL.fullmatch(text):
        return float(text)
    return float(text.replace(".", "")) if NOT_FINITE.fullmatch(text) else text


def split_lines(text: str) -> tuple[str, ...]:
    """The lines as the parser counts them."""
    return tuple(LINE_BREAK.split(text))


def read(text: str, source: Source, path: KeyPath = ()) -> tuple[Node | None, list[Problem]]:
    """Read one document, whose root stands at `path`; None for an empty one.

    Returns the tree as far as it is usable, with the problems found on the way.

    Raises:
        BlueprintError: where the text is no YAML, or no tree could be made of it.
    """
    _refuse_unreadable(text, source)
    composer = _Composer(text)
    try:
        document = composer.get_single_node()
    except yaml.MarkedYAMLError as error:
        raise BlueprintError([syntax_problem(error, source)]) from None
    except RecursionError:
        raise BlueprintError([Problem("nested too deeply", file=source.name)]) from None
    finally:
        composer.dispose()
    if document is None:
        return None, []
    reader = _Reader(source)
    return reader.node(document, reader.place(document, path)), reader.problems


class _Reader:
    """One pass over a composed document."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self._seen: set[int] = set()
        self._open: list[int] = []
        self._copies = 0

    def place(self, composed: Any, path: KeyPath) -> Place:
        mark = composed.start_mark
        return Place(self.source, mark.line + 1, mark.column + 1, path)

    def node(self, composed: Any, place: Place) -> Node:
        """The node at `place`, with its aliases followed."""
        if composed.tag not in ("plain", "untagged"):
            self._report(place, f"found the tag {shorten(composed.tag, '`')}; tags are not allowed")
            return Broken(place)
        if isinstance(composed, yaml.ScalarNode):
            text = composed.value
            return Scalar(place, scalar_value(text) if composed.tag == "plain" else text, text)
        self._enter(composed, place)
        node: Node
        if isinstance(composed, yaml.SequenceNode):
            node = Sequence(place, self._items(composed, place.path))
        else:
            node = Mapping(place, self._entries(composed, place.path))
        self._open.pop()
        return node

    def _report(self, place: Place, message: str) -> None:
        self.problems.append(place.problem(message))

    def _enter(self, composed: yaml.Node, place: Place) -> None:
        """Refuse what would never end, or end too late."""
        key = id(composed)
        self._copies += len(composed.value) if key in self._seen else 0
        message = ""
        if key in self._open:
            message = "an alias stands inside what it stands for"
        elif self._copies > COPY_LIMIT:
            message = f"aliases add more than {COPY_LIMIT:,} values"
        elif len(self._open) >= DEPTH_LIMIT:
            message = f"nested more than {DEPTH_LIMIT} levels deep"
        if message:
            raise BlueprintError([*self.problems, place.problem(message)])
        self._seen.add(key)
        self._open.append(key)

    def _items(self, composed: yaml.SequenceNode, path: KeyPath) -> list[Node]:
        return [
            self.node(item, self.place(item, (*path, index)))
            for index, item in enumerate(composed.value)
        ]

    def _entries(self, composed: yaml.MappingNode, path: KeyPath) -> dict[str, Node]:
        """The entries in their order; those that are merged in give way to those written here."""
        entries: dict[str, Node] = {}
        lines: dict[str, int] = {}
        merged: list[dict[str, Node]] = []
        for pair in composed.value:
            key_node, value = self._parted(pair, path)
            key, place = key_node.value, self.place(key_node, path)
            is_merge = key_node.tag == "plain" and key == "<<"
            if not is_merge and not self._is_text(key_node):
                self._report(place, f"a key must be text; found {_shown_key(key_node)}")
                continue
            place = self.place(key_node, (*path, key))
            if key in lines:
                message = f"written twice, in lines {lines[key]} and {place.line}"
                self._report(place, message)
            lines.setdefault(key, place.line)
            if is_merge:
                merged += self._merged(value, place)
            else:
                entries[key] = _joined(entries.get(key), self.node(value, place))
        for base in merged:
            entries = {**entries, **{k: v for k, v in base.items() if k not in entries}}
        return entries

    def _parted(
        self, pair: tuple[yaml.Node, yaml.Node], path: KeyPath
    ) -> tuple[yaml.Node, yaml.Node]:
        """The key and its value; those without a space between them, `{heads:8}`, are told."""
        key, value = pair
        found = RUN_TOGETHER.fullmatch(key.value) if key.tag == "plain" else None
        if not found:
            return pair
        self._report(self.place(key, (*path, found[1])), NO_SPACE)
        if value.value != "":
            raise BlueprintError(self.problems)
        parts = [yaml.ScalarNode("plain", part, key.start_mark) for part in found.groups()]
        return parts[0], parts[1]

    def _merged(self, composed: yaml.Node, place: Place) -> list[dict[str, Node]]:
        """What a merge key `<<` brings: of one mapping, or of several, the first of which wins."""
        several = isinstance(composed, yaml.SequenceNode) and composed.tag == "untagged"
        bases: list[dict[str, Node]] = []
        for base in composed.value if several else [composed]:
            if not isinstance(base, yaml.MappingNode) or base.tag != "untagged":
                self._report(place, "a merge key takes a section, or a list of sections")
                continue
            self._enter(base, place)
            bases.append(self._entries(base, place.path[:-1]))
            self._open.pop()
        return bases

    @staticmethod
    def _is_text(key: yaml.Node) -> bool:
        if not isinstance(key, yaml.ScalarNode) or key.tag not in ("plain", "untagged"):
            return False
        return key.tag == "untagged" or isinstance(scalar_value(key.value), str)


def _joined(first: Node | None, second: Node) -> Node:
    """Both values of a key that is written twice, so that no mistake in either is hidden."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return Mapping(first.place, {**second.entries, **first.entries})
    return first or second


def _shown_key(key: yaml.Node) -> str:
    if not isinstance(key, yaml.ScalarNode):
        return "a list or section"
    if key.tag not in ("plain", "untagged"):
        return f"the tag {shorten(key.tag, '`')}"
    return f"{shorten(key.value, '`')} (put quotes around it)" if key.value else "nothing"


def _refuse_unreadable(text: str, source: Source) -> None:
    """Refuse text that is too long, or holds characters which YAML forbids."""
    if len(text) > SIZE_LIMIT:
        message = f"{len(text):,} characters; a blueprint has at most {SIZE_LIMIT:,}"
        raise BlueprintError([Problem(message, file=source.name)])
    bad = UNREADABLE.search(text)
    if bad is None:
        return
    before = split_lines(text[: bad.start()])
    place = Place(source, len(before), len(before[-1]) + 1)
    message = f"a control character, {shorten(bad.group(), '`')}, that YAML does not allow"
    raise BlueprintError([place.problem(message)])
