"""The JSON Schema of blueprints into the page of reference, which so follows the language."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from builder.blueprint.allowance import (
    by_layer,
    figure,
    on_one_line,
    options,
    sections,
    single_values,
)
from builder.blueprint.blueprint import WrittenBlueprint
from builder.blueprint.cascade import STACK_KEYS
from builder.blueprint.markdown import aligned, anchor, enumerated, table
from builder.blueprint.model import Decoder, Encoder, Mask, WrittenModel
from builder.blueprint.plan.drawing import draw
from builder.blueprint.schema import Schema, json_schema

INTRODUCTION = """\
# Every key of a blueprint

How a blueprint is written stands in [language.md](language.md); what may stand in it, here. This
page is made from the schema: `transom schema --markdown` prints it.

- A key stands below the heading of its section: `heads`, below `model.attention`, is
  `model.attention.heads`.
- *Required*: unless a blueprint that this one `extends` supplies it.
- No default (–): nothing, or whatever the keys of that section say; the meaning tells which.
- A word beside “a section” is short for the section of that `kind`: `positions: rotary` is
  `positions: {kind: rotary}`. A number beside it is short for that number under each of its keys.
- *A list of such*, below `model`: one for each layer, from the start again when it ends.
- Whole numbers end at 2,147,483,647 and others at 1e12 where no upper limit is told."""
FOR_STACKS = "For both stacks, or under `model.encoder` or `model.decoder` for one:"
FOR_ALL = "Whatever the `kind`:"
FORMS = "The keys that are written tell which of these it is."
PICTURES = (
    "In the pictures queries run downwards and keys to the right, the first token is top left, and "
    "`■` may be attended to."
)

SIDES = ("encoder", "decoder", "source", "target")
"""Keys told after those beside them, for what stands there holds for them, too."""
CARRIED = {section.__name__: STACK_KEYS for section in (Encoder, Decoder)}
"""Keys that are explained under `model`, by the definition that has them as well."""
WORTH_A_TABLE = 4
"""Keys of every kind that are told once, not below each."""
FIRST, SECOND = 3, 2
"""The numbers in the pictures: what a kind needs, and what it may have."""

Definitions = dict[str, Schema]
HEAD = ("Key", "What may stand there", "Default", "Meaning")


@dataclass(frozen=True)
class Use:
    """A key under which sections may stand."""

    path: tuple[str, ...]
    schema: Schema

    def __str__(self) -> str:
        return f"`{'.'.join(self.path)}`"


Uses = dict[tuple[str, ...], list[Use]]
"""Where the sections stand, by the definitions that may stand in one place."""


def reference_text() -> str:
    """The page of reference in Markdown, without the last line break."""
    schema = json_schema()
    page = _Page(schema["$defs"])
    return "\n\n".join([INTRODUCTION, *page.blocks()])


class _Page:
    """The sections of a schema, each told once under all the places where it may stand."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.uses: Uses = {}
        self._visit(WrittenBlueprint.__name__, ())

    def blocks(self) -> Iterator[str]:
        """The paragraphs, headings, tables and pictures."""
        yield "## Top level"
        yield from self._section(WrittenBlueprint.__name__)
        for members, uses in self.uses.items():
            yield self._heading(uses)
            if len(members) == 1 and not self._kind(members[0]):
                yield from self._section(members[0])
            else:
                yield from self._union(members, uses)
        links = [f"[{uses[0]}]: #{anchor(self._heading(uses))}" for uses in self.uses.values()]
        yield "\n".join(links)

    def _visit(self, name: str, path: tuple[str, ...]) -> None:
        for key, schema in self._properties(name).items():
            members = sections(schema)
            if members:
                known, use = members in self.uses, Use((*path, key), schema)
                uses = self.uses.setdefault(members, [])
                uses += [use] if use not in uses else []
                for member in () if known else members:
                    self._visit(member, (*path, key))

    def _properties(self, name: str) -> Definitions:
        """The keys told of a definition: plain values, then sections, then the two sides."""
        found = {
            key: schema
            for key, schema in self.definitions[name]["properties"].items()
            if key not in CARRIED.get(name, ()) and not (key == "kind" and self._kind(name))
        }
        rank = {key: (key in SIDES, bool(sections(schema))) for key, schema in found.items()}
        return {key: found[key] for key in sorted(found, key=rank.__getitem__)}

    def _kind(self, name: str) -> str:
        """The word that chooses this definition among others, if one does."""
        schema = self.definitions[name]["properties"].get("kind", {})
        words = single_values(schema)
        return words[0] if len(words) == 1 else ""

    def _heading(self, uses: list[Use]) -> str:
        return f"{'#' * (len(uses[0].path) + 1)} {', '.join(map(str, uses))}"

    def _section(self, name: str) -> Iterator[str]:
        definition = self.definitions[name]
        yield " ".join([definition["description"], *self._needs(definition), *self._carried(name)])
        properties = self._properties(name)
        for_stacks = STACK_KEYS if name == WrittenModel.__name__ else ()
        yield from self._table(name, [key for key in properties if key not in for_stacks])
        if for_stacks:
            yield FOR_STACKS
            yield from self._table(name, [key for key in properties if key in for_stacks])

    def _needs(self, definition: Schema) -> Iterator[str]:
        ways = definition.get("anyOf", ())
        if ways:
            yield f"It needs {', or '.join(enumerated(each['required']) for each in ways)}."

    def _carried(self, name: str) -> Iterator[str]:
        if name in CARRIED:
            keys = enumerated(CARRIED[name])
            yield f"{keys}, as told under [`model`], may stand here for this stack alone."

    def _union(self, members: tuple[str, ...], uses: list[Use]) -> Iterator[str]:
        kinds = [self._kind(name) for name in members]
        yield self._choice_among(members, kinds, uses)
        common = self._common(members)
        if common:
            yield FOR_ALL
            yield from self._table(members[0], common)
        is_mask = uses[0].path[-1] == "mask"
        if is_mask:
            yield PICTURES
        for kind, name in zip(kinds, members, strict=True):
            definition = self.definitions[name]
            title = kind or f"{{{', '.join(definition['required'])}}}"
            yield f"**`{title}`**: {definition['description']}"
            yield from self._table(name, [k for k in self._properties(name) if k not in common])
            if is_mask:
                yield _pictures(kind, definition)

    def _common(self, members: tuple[str, ...]) -> list[str]:
        """The keys that all members have alike, where so many are worth a table of their own."""
        first, *rest = map(self._properties, members)
        common = [k for k in first if all(other.get(k) == first[k] for other in rest)]
        return common if rest and len(common) >= WORTH_A_TABLE else []

    def _choice_among(self, members: tuple[str, ...], kinds: list[str], uses: list[Use]) -> str:
        """What the sections are for, and what tells which of them it is."""
        told = {self.definitions[name]["description"] for name in members}
        meanings = {use.schema["description"] for use in uses} - told
        purpose = meanings if len(meanings) == 1 else ()
        return " ".join([*purpose, _choice(kinds, uses) if all(kinds) else FORMS])

    def _table(self, name: str, keys: list[str]) -> Iterator[str]:
        if keys:
            yield table(HEAD, (self._row(self.definitions[name], key) for key in keys))

    def _row(self, definition: Schema, key: str) -> tuple[str, ...]:
        schema = definition["properties"][key]
        default = "required" if key in definition.get("required", ()) else "–"
        if "default" in schema:
            default = f"`{on_one_line(schema['default'])}`"
        return f"`{key}`", self._allowed(schema), default, schema.get("description", "")

    def _allowed(self, schema: Schema) -> str:
        choices = list(options(schema))
        members = sections(schema)
        words = ", ".join(f"`{on_one_line(value)}`" for value in single_values(schema))
        figures = dict.fromkeys(map(figure, choices))
        section = f"a section ([{self.uses[members][0]}])" if members else ""
        several = "a list of such" if any(map(by_layer, choices)) else ""
        return ", or ".join(filter(None, [words, *figures, section, several]))


def _choice(kinds: list[str], uses: list[Use]) -> str:
    """Which kinds there are, and which holds where none is written."""
    if len(kinds) == 1:
        return f"The only `kind` is `{kinds[0]}`."
    defaults = {str(use): _default_kind(use.schema) for use in uses}
    text = f"`kind` is {enumerated(kinds, 'or')}"
    if len(set(defaults.values())) > 1:
        each = ", ".join(f"`{kind}` for {use}" for use, kind in defaults.items())
        return f"{text}; where none is written, {each}."
    kind = next(iter(defaults.values()))
    return f"{text}; where none is written, `{kind}`." if kind else f"{text}."


def _default_kind(schema: Schema) -> str:
    default = schema.get("default", "")
    return str(default["kind"] if isinstance(default, dict) else default)


def _pictures(kind: str, definition: Schema) -> str:
    """The mask with what it needs, and once more with each number that it may have."""
    numbers = [
        key
        for key, schema in definition["properties"].items()
        if any(option["type"] == "integer" for option in options(schema))
    ]
    needed = {"kind": kind, **dict.fromkeys(definition.get("required", ()), FIRST)}
    masks = [needed, *({**needed, key: SECOND} for key in numbers if key not in needed)]
    read = TypeAdapter[Any](Mask).validate_python
    columns = [[on_one_line(mask), *draw(read(mask)).rows] for mask in masks]
    return "\n".join(["```text", *aligned(zip(*columns, strict=True), "   "), "```"])
