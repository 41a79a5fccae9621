"""Deep merging of written sections: the more specific key wins."""

from __future__ import annotations

from dataclasses import replace

from builder.blueprint.data import form
from builder.blueprint.nodes import Mapping, Node, Scalar


def merge(base: Node | None, over: Node) -> Node:
    """`base` with what `over` writes; another `kind` replaces the whole, and so does a list."""
    if isinstance(base, Mapping) and isinstance(over, Mapping) and not _differ(base, over):
        return merged(base, over)
    return over


def merged(base: Mapping, over: Mapping) -> Mapping:
    """The entries of both; the result stands where `base` does if `over` is only a flag."""
    entries = dict(base.entries)
    for key, node in over.entries.items():
        entries[key] = merge(entries.get(key), node)
    return replace(base if over.place.is_flag else over, entries=entries)


def variety(section: Mapping) -> str:
    """The `kind` of a section, or the form of a data source; empty where none shows."""
    kind = section.entries.get("kind")
    if isinstance(kind, Scalar):
        return str(kind.value)
    shape = form(section.entries)
    return shape if shape != "files" or "source" in section.entries else ""


def _differ(base: Mapping, over: Mapping) -> bool:
    """Whether two sections are of two kinds, so that keys of one mean nothing in the other."""
    kinds = variety(base), variety(over)
    return all(kinds) and kinds[0] != kinds[1]
