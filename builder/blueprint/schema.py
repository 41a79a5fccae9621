"""The written form of a blueprint into JSON Schema, so that editors complete and check it."""

from __future__ import annotations

import ast
import inspect
import json
import sys
import types
from collections.abc import Iterable
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic.fields import FieldInfo

from builder.blueprint.blueprint import WrittenBlueprint
from builder.blueprint.cascade import RECIPE_KEYS, STACK_KEYS
from builder.blueprint.data import WrittenData
from builder.blueprint.fields import (
    constraints,
    default_kind,
    fields,
    has_kind,
    is_by_layer,
    kind_name,
    members,
)
from builder.blueprint.model import Decoder, Encoder
from builder.blueprint.section import Section, Uniform
from builder.blueprint.tokenizer import Recipe, WrittenTokenizer

Schema = dict[str, Any]
"""A JSON Schema, or a part of one."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"
PLAIN = {bool: "boolean", str: "string", int: "integer", float: "number"}
BOUNDS = {
    Ge: ("ge", "minimum"),
    Gt: ("gt", "exclusiveMinimum"),
    Le: ("le", "maximum"),
    Lt: ("lt", "exclusiveMaximum"),
    MinLen: ("min_length", "minLength"),
    MaxLen: ("max_length", "maxLength"),
}

FILLED_IN: dict[type[Section], tuple[str, ...]] = {
    WrittenBlueprint: ("name",),
    WrittenTokenizer: ("shared", "source", "target"),
    WrittenData: ("train", "valid"),
}
"""Required keys that the loader fills in where a user leaves them out."""
OWN = ("transom",)
"""Keys that no other file supplies."""
RECEIVED: dict[type[Section], tuple[str, ...]] = {
    Encoder: STACK_KEYS,
    Decoder: (*STACK_KEYS, "cross_attention"),
    WrittenTokenizer: ("source", "target"),
}
"""Keys below which the cascade supplies what is not written."""


def json_schema() -> Schema:
    """What a user may write, in JSON Schema (draft 2020-12).

    Conflicts between fields are beyond it, as are keys of which the cascade decides whether they
    make sense; whatever the loader takes, it takes.
    """
    writer = _Writer()
    whole, part = (writer.section(WrittenBlueprint, inherits=each) for each in (False, True))
    return {
        "$schema": DIALECT,
        "title": "Transom blueprint",
        "if": {"properties": {"extends": {"type": "string"}}, "required": ["extends"]},
        "then": part,
        "else": whole,
        "$defs": dict(sorted(writer.definitions.items())),
    }


def schema_text() -> str:
    """The JSON Schema as the text of a file, without the last line break."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False)


class _Writer:
    """Collects one definition for each section.

    Where a section `inherits`, others supply what it leaves out: nothing in it is required, and
    its defaults are not told.
    """

    def __init__(self) -> None:
        self.definitions: Schema = {}

    def section(self, section: type[Section], *, inherits: bool) -> Schema:
        """A reference to the definition of a section."""
        name = f"{section.__name__}{'.inheriting' if inherits else ''}"
        if name not in self.definitions:
            self.definitions[name] = self._define(section, inherits=inherits)
        return {"$ref": f"#/$defs/{name}"}

    def _define(self, section: type[Section], *, inherits: bool) -> Schema:
        required = [
            key
            for key, info in fields(section).items()
            if info.is_required() and not _may_lack(section, key, inherits=inherits)
        ]
        received = RECEIVED.get(section, ())
        return {
            "type": "object",
            "description": _prose(inspect.getdoc(section) or ""),
            "additionalProperties": False,
            "properties": {
                key: self._property(section, key, inherits=inherits or key in received)
                for key in fields(section)
            },
            **({"required": required} if required else {}),
            **({} if inherits else self._alternatives(section)),
        }

    def _alternatives(self, section: type[Section]) -> Schema:
        """What is required only where other keys are not written."""
        if section is WrittenData:
            either = ({"required": ["builtin"]}, {"required": ["train", "valid"]})
            return {"anyOf": list(either)}
        if section is not WrittenTokenizer:
            return {}
        sides = {side: self.value(Recipe, inherits=False) for side in RECEIVED[WrittenTokenizer]}
        common = {"anyOf": [{"required": [key]} for key in RECIPE_KEYS]}
        sized = {"anyOf": [{"required": ["vocab_size"]}, {"required": list(sides)}]}
        bpe = {"properties": {"kind": {"const": "bpe"}}, "required": ["kind"]}
        return {
            "if": common,
            "then": {"if": bpe, "then": sized},
            "else": {"properties": sides, "required": list(sides)},
        }

    def _property(self, section: type[Section], key: str, *, inherits: bool) -> Schema:
        info = fields(section)[key]
        value = self.value(info.annotation, info.metadata, default_kind(info), inherits=inherits)
        if not info.is_required() or _may_lack(section, key, inherits=inherits):
            value = _or_null(value)
        description = describe(section, key)
        default = {} if inherits else _default(info)
        return {**({"description": description} if description else {}), **default, **value}

    def value(
        self,
        annotation: Any,
        metadata: Iterable[Any] = (),
        default: str = "",
        *,
        inherits: bool,
    ) -> Schema:
        """What may stand there; `default` is the `kind` of a section that names none."""
        origin = get_origin(annotation)
        if origin is Annotated:
            inner, *more = get_args(annotation)
            return self.value(inner, [*more, *metadata], default, inherits=inherits)
        if is_by_layer(annotation):
            return self._by_layer(get_args(annotation)[0], default, inherits=inherits)
        if members(annotation):
            return self._sections(annotation, default, inherits=inherits)
        if origin in (Union, types.UnionType):
            options = [each for each in get_args(annotation) if each is not types.NoneType]
            return _any_of([self.value(each, metadata, inherits=inherits) for each in options])
        if origin is Literal:
            return {"enum": list(get_args(annotation))}
        if origin in (tuple, list):
            return self._list(annotation, inherits=inherits)
        return {"type": PLAIN[annotation], **_bounds(metadata)}

    def _by_layer(self, item: Any, default: str, *, inherits: bool) -> Schema:
        """One value, or a list that is cycled over the layers."""
        value = self.value(item, (), default, inherits=inherits)
        several = {"type": "array", "minItems": 1, "items": value}
        return _any_of([*value.get("anyOf", [value]), several])

    def _list(self, annotation: Any, *, inherits: bool) -> Schema:
        items = [self.value(each, inherits=inherits) for each in get_args(annotation)]
        if get_origin(annotation) is list:
            return {"type": "array", "items": items[0]}
        size = {"minItems": len(items), "maxItems": len(items)}
        return {"type": "array", "prefixItems": items, **size}

    def _sections(self, annotation: Any, default: str, *, inherits: bool) -> Schema:
        """Sections, and the words and numbers that are short for them."""
        options = members(annotation)
        short = [
            {"const": kind, "description": _prose(inspect.getdoc(section) or "")}
            for kind, section in _by_word(options).items()
            if inherits or not _needs_more(section)
        ]
        for section in options.values():
            if issubclass(section, Uniform):
                first = next(iter(section.model_fields.values()))
                short.append(self.value(first.annotation, first.metadata, inherits=inherits))
        full = [
            self.section(section, inherits=inherits)
            | ({} if inherits or not kind_name(section) or kind == default else KIND_REQUIRED)
            for kind, section in options.items()
        ]
        return _any_of([*short, *full])


KIND_REQUIRED = {"required": ["kind"], "properties": {"kind": {"type": "string"}}}


def describe(section: type[Section], key: str) -> str:
    """What the source says of a key: its docstring, or else that of the only section there."""
    name = next(name for name, info in section.model_fields.items() if key in (info.alias, name))
    for base in section.__mro__:
        if (base.__name__, name) in (known := _docstrings(base.__module__)):
            return known[base.__name__, name]
    options = list(members(fields(section)[key].annotation).values())
    return _prose(inspect.getdoc(options[0]) or "") if len(options) == 1 else ""


@cache
def _docstrings(module: str) -> dict[tuple[str, str], str]:
    """The docstring of every attribute of a module's classes, by class and name."""
    source = inspect.getsource(sys.modules[module]) if module.startswith("builder.") else ""
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            for first, second in zip(node.body, node.body[1:], strict=False):
                match first, second:
                    case (
                        ast.AnnAssign(target=ast.Name(id=name)),
                        ast.Expr(value=ast.Constant(value=str(text))),
                    ):
                        found[node.name, name] = _prose(inspect.cleandoc(text))
    return found


def _may_lack(section: type[Section], key: str, *, inherits: bool) -> bool:
    """Whether a required key may be left out, for something else brings it."""
    return key not in OWN and (inherits or key in ("kind", *FILLED_IN.get(section, ())))


def _by_word(options: dict[str, type[Section]]) -> dict[str, type[Section]]:
    """The section that each bare word chooses."""
    if WrittenTokenizer in options.values():
        return members(Recipe)
    return {kind: section for kind, section in options.items() if has_kind(section)}


def _needs_more(section: type[Section]) -> bool:
    """Whether the section needs keys beside its kind."""
    return any(info.is_required() and key != "kind" for key, info in fields(section).items())


def _default(info: FieldInfo) -> Schema:
    """The default, in the shortest form that a user may write; none is told for plain sections."""
    value = info.default[0] if is_by_layer(info.annotation) else info.default
    if info.is_required() or value is None:
        return {}
    if not isinstance(value, Section):
        return {"default": list(value) if isinstance(value, tuple) else value}
    plain = value.model_dump(by_alias=True)
    if kind_name(type(value)):
        return {"default": plain["kind"] if value.model_fields_set == {"kind"} else plain}
    figures = list(plain.values())
    if isinstance(value, Uniform) and figures.count(figures[0]) == len(figures):
        return {"default": figures[0]}
    return {}


def _bounds(metadata: Iterable[Any]) -> Schema:
    """The limits of a number or of the length of a text."""
    found = {}
    for bound in constraints(metadata):
        if type(bound) in BOUNDS:
            attribute, word = BOUNDS[type(bound)]
            found[word] = getattr(bound, attribute)
    return found


def _any_of(options: list[Schema]) -> Schema:
    return options[0] if len(options) == 1 else {"anyOf": options}


def _or_null(value: Schema) -> Schema:
    """The same value, or null, which restores the default."""
    if "type" in value:
        return {**value, "type": [value["type"], "null"]}
    if "enum" in value:
        return {"enum": [*value["enum"], None]}
    return {"anyOf": [*value.get("anyOf", [value]), {"type": "null"}]}


def _prose(text: str) -> str:
    """A docstring as one paragraph for each of its own."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
