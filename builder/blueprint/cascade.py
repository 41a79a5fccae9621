"""Short forms written out, and what holds for both sides carried down to each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from pydantic.fields import FieldInfo

from builder.blueprint.blueprint import WrittenBlueprint
from builder.blueprint.data import SPLITS
from builder.blueprint.fields import default_kind, fields, has_kind, members
from builder.blueprint.merge import member, merge
from builder.blueprint.model import Decoder, Stack, WrittenModel
from builder.blueprint.nodes import Mapping, Node, Scalar, Sequence, is_blank
from builder.blueprint.section import Section, Uniform
from builder.blueprint.tokenizer import Tokenizer, WrittenTokenizer

STACK_KEYS = tuple(Stack.model_fields)
RECIPE_KEYS = tuple(
    key for key in WrittenTokenizer.model_fields if key not in Tokenizer.model_fields
)

Entries = dict[str, Node]
Change = Callable[[Entries, type[Section]], Entries]


def expand(root: Mapping) -> Mapping:
    """Write short forms out: a word becomes its `kind`, a number every field it stands for."""
    return rewrite(root, WrittenBlueprint, _expand)


def without_blanks(root: Mapping) -> Mapping:
    """The tree without blank keys: they are as good as not written."""
    return rewrite(root, WrittenBlueprint, _drop_blanks)


def complete(root: Mapping) -> Mapping:
    """Name the default `kind` in sections that give none."""
    return rewrite(root, WrittenBlueprint, _complete)


def cascade(root: Mapping) -> Mapping:
    """Carry what holds for both sides down to each; what was written stays where it was."""
    steps = {"model": _cascade_model, "tokenizer": _cascade_tokenizer, "data": _cascade_data}
    entries = dict(root.entries)
    for key, step in steps.items():
        section = entries.get(key)
        if isinstance(section, Mapping):
            entries[key] = step(section)
    return replace(root, entries=entries)


def settled(root: Mapping) -> Mapping:
    """The tree without the keys that were carried down."""
    carried = {"model": STACK_KEYS, "tokenizer": RECIPE_KEYS, "data": ("builtin",)}
    entries = dict(root.entries)
    for key, gone in carried.items():
        section = entries.get(key)
        if isinstance(section, Mapping):
            kept = {k: v for k, v in section.entries.items() if k not in gone}
            entries[key] = replace(section, entries=kept)
    return replace(root, entries=entries)


def rewrite(section: Mapping, schema: type[Section], change: Change) -> Mapping:
    """Apply `change` to the entries of every section, outermost first."""
    entries = change(section.entries, schema)
    for key, node in entries.items():
        info = fields(schema).get(key)
        if info is not None:
            entries[key] = each(node, partial(_rewritten, info=info, change=change))
    return replace(section, entries=entries)


def _rewritten(node: Node, info: FieldInfo, change: Change) -> Node:
    inner = member(node, info) if isinstance(node, Mapping) else None
    return rewrite(node, inner, change) if isinstance(node, Mapping) and inner else node


def each(node: Node, change: Callable[[Node], Node]) -> Node:
    """The node, or every item of a list, changed."""
    if isinstance(node, Sequence):
        return replace(node, items=[change(item) for item in node.items])
    return change(node)


def _cascade_model(model: Mapping) -> Mapping:
    common = Mapping(model.place, {k: v for k, v in model.entries.items() if k in STACK_KEYS})
    entries = dict(model.entries)
    for side in ("encoder", "decoder"):
        entries[side] = _carried(common, entries.get(side, common), fields(WrittenModel)[side])
    decoder = entries["decoder"]
    if isinstance(decoder, Mapping) and "attention" in decoder.entries:
        attention = decoder.entries["attention"]
        own = decoder.entries.get("cross_attention", attention)
        cross = _carried(attention, own, fields(Decoder)["cross_attention"])
        entries["decoder"] = replace(decoder, entries={**decoder.entries, "cross_attention": cross})
    return replace(model, entries=entries)


def _cascade_tokenizer(tokenizer: Mapping) -> Mapping:
    common = {k: v for k, v in tokenizer.entries.items() if k in RECIPE_KEYS}
    base = Mapping(tokenizer.place, common)
    apart = "source" in tokenizer.entries or "target" in tokenizer.entries
    shared = Scalar(tokenizer.place, not apart, "")
    entries: Entries = {"shared": shared, **tokenizer.entries}
    for side in ("source", "target"):
        if common or side in entries:
            own = entries.get(side, base)
            entries[side] = _carried(base, own, fields(WrittenTokenizer)[side])
    return replace(tokenizer, entries=entries)


def _carried(common: Node, own: Node, info: FieldInfo) -> Node:
    """What holds for both sides merged into `own`, which keeps its place."""
    return replace(merge(common, own, info), place=own.place)


def _cascade_data(data: Mapping) -> Mapping:
    name = data.entries.get("builtin")
    if name is None:
        return data
    pairs = Mapping(name.place, {"builtin": name})
    return replace(data, entries={**dict.fromkeys(SPLITS, pairs), **data.entries})


def _expand(entries: Entries, schema: type[Section]) -> Entries:
    known = fields(schema)
    return {
        key: each(node, partial(_section, info=known[key])) if key in known else node
        for key, node in entries.items()
    }


def _section(node: Node, info: FieldInfo) -> Node:
    """The section that a word or number is short for."""
    if not isinstance(node, Scalar):
        return node
    options = members(info.annotation).values()
    if isinstance(node.value, str) and any(map(has_kind, options)):
        return Mapping(node.place, {"kind": node})
    if isinstance(node.value, int | float) and not isinstance(node.value, bool):
        for option in options:
            if issubclass(option, Uniform):
                return Mapping(node.place, dict.fromkeys(option.model_fields, node))
    return node


def _drop_blanks(entries: Entries, schema: type[Section]) -> Entries:
    """Unknown keys stay, so that a typo is told even where its value is blank."""
    return {k: v for k, v in entries.items() if not is_blank(v) or k not in fields(schema)}


def _complete(entries: Entries, schema: type[Section]) -> Entries:
    named = dict(entries)
    for key, node in entries.items():
        info = fields(schema).get(key)
        kind = default_kind(info) if info else ""
        if kind:
            named[key] = each(node, partial(_named, kind=kind))
    return named


def _named(node: Node, kind: str) -> Node:
    """A section with its `kind`, which is the given one unless it has one."""
    if not isinstance(node, Mapping) or "kind" in node.entries:
        return node
    return replace(node, entries={"kind": Scalar(node.place, kind, kind), **node.entries})
