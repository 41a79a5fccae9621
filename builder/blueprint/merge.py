"""Deep merging of written sections: the more specific key wins."""

from __future__ import annotations

from dataclasses import replace

from pydantic.fields import FieldInfo

from builder.blueprint.data import SPLITS, WrittenData, form
from builder.blueprint.fields import default_kind, fields, kind_name, members
from builder.blueprint.nodes import Mapping, Node, Scalar, is_blank
from builder.blueprint.section import Section


def merge(base: Node | None, over: Node, info: FieldInfo | None) -> Node:
    """`base` with what `over` writes for the field `info`, which is None for an unknown key.

    Another `kind`, or another form of a data source, replaces the whole, and so does a list.
    """
    if not isinstance(base, Mapping) or not isinstance(over, Mapping):
        return over
    if info is None:
        return merged(base, over, None)
    if _differ(base, over, info):
        return over
    both = replace(over, entries={**base.entries, **over.entries})
    return merged(base, over, member(both, info))


def merged(base: Mapping, over: Mapping, schema: type[Section] | None) -> Mapping:
    """The entries of both; the result stands where `base` does if `over` is only a flag."""
    known = fields(schema) if schema else {}
    entries = dict(base.entries)
    if schema is WrittenData:
        entries = {k: v for k, v in entries.items() if k not in _told_anew(over)}
    for key, node in over.entries.items():
        entries[key] = merge(entries.get(key), node, known.get(key))
    return replace(base if over.place.is_flag else over, entries=entries)


def member(section: Mapping, info: FieldInfo) -> type[Section] | None:
    """The class of a section, told by its kind or form; None where that is not clear."""
    options = members(info.annotation)
    if len(options) == 1:
        return next(iter(options.values()))
    return options.get(_variety(section, info) or default_kind(info))


def _variety(section: Mapping, info: FieldInfo) -> str:
    """The `kind` of a section, or the form of a data source; empty where none shows."""
    kind = section.entries.get("kind")
    if isinstance(kind, Scalar):
        return default_kind(info) if is_blank(kind) else str(kind.value)
    if not any(tag and not kind_name(option) for tag, option in members(info.annotation).items()):
        return ""
    shape = form(section.entries)
    return shape if shape != "files" or {"source", "target"} & set(section.entries) else ""


def _differ(base: Mapping, over: Mapping, info: FieldInfo) -> bool:
    """Whether two sections are of two kinds, so that keys of one mean nothing in the other."""
    kinds = _variety(base, info), _variety(over, info)
    return all(kinds) and kinds[0] != kinds[1]


def _told_anew(over: Mapping) -> tuple[str, ...]:
    """What a `data` section replaces: `builtin` stands for the splits, and they for it."""
    written = {key for key, node in over.entries.items() if not is_blank(node)}
    if "builtin" in written:
        return SPLITS
    return ("builtin",) if written.issuperset(SPLITS) else ()
