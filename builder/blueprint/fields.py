"""What a section of a blueprint allows, told from its class."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic import Tag
from pydantic.fields import FieldInfo

from builder.blueprint.nodes import KeyPath
from builder.blueprint.section import Section, Uniform


@cache
def fields(section: type[Section]) -> dict[str, FieldInfo]:
    """The fields under the keys that a user writes."""
    return {info.alias or name: info for name, info in section.model_fields.items()}


def members(annotation: Any, tag: str = "") -> dict[str, type[Section]]:
    """The sections that may stand there, by `kind` or form; empty for a plain value."""
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *metadata = get_args(annotation)
        tags = [item.tag for item in metadata if isinstance(item, Tag)]
        return members(inner, tags[0] if tags else tag)
    if is_by_layer(annotation):
        return members(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        found: dict[str, type[Section]] = {}
        for option in get_args(annotation):
            found |= members(option)
        return found
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return {kind_name(annotation) or tag: annotation}
    return {}


def is_by_layer(annotation: Any) -> bool:
    """Whether a list may stand there that is cycled over the layers."""
    return get_origin(annotation) is tuple and get_args(annotation)[-1] is Ellipsis


def kind_name(section: type[Section]) -> str:
    """The word that chooses this member of a union; empty for a section that is no member."""
    info = section.model_fields.get("kind")
    return get_args(info.annotation)[0] if info is not None and info.is_required() else ""


def has_kind(section: type[Section]) -> bool:
    """Whether a bare word may stand for the section."""
    return "kind" in section.model_fields


def default_kind(info: FieldInfo) -> str:
    """The `kind` that holds where none is written; empty if there is no such default."""
    default = info.default[0] if is_by_layer(info.annotation) else info.default
    return kind_name(type(default)) if isinstance(default, Section) else ""


@dataclass(frozen=True)
class Spot:
    """Where an error of pydantic points: the keys without union tags, and the schema there."""

    path: KeyPath
    owner: type[Section]
    """The section that holds, or should hold, the last key."""
    info: FieldInfo | None
    """The field of the last key; None for an unknown one."""
    siblings: dict[str, type[Section]]
    """The other members of the union that `owner` belongs to, by `kind` or form."""


def locate(location: KeyPath, root: type[Section]) -> Spot:
    """Take the union tags out of pydantic's location."""
    rest = list(location)
    section, siblings = root, dict[str, type[Section]]()
    path: KeyPath = ()
    while True:
        key = rest.pop(0)
        path = (*path, key)
        info = fields(section).get(str(key))
        options = members(info.annotation) if info else {}
        if options and rest and isinstance(rest[0], int):
            path = (*path, rest.pop(0))
        tag = str(rest.pop(0)) if len(options) > 1 and rest else ""
        if not rest or not options:
            indices = tuple(part for part in rest if isinstance(part, int))
            return Spot((*path, *indices), section, info, siblings)
        siblings = options
        section = options[tag] if tag else next(iter(options.values()))


def walk_schema(section: type[Section], path: KeyPath = ()) -> Iterator[tuple[KeyPath, FieldInfo]]:
    """Every key of the language, with its path; keys of several kinds come several times."""
    for key, info in fields(section).items():
        yield (*path, key), info
        for member in members(info.annotation).values():
            yield from walk_schema(member, (*path, key))


def owners(section: type[Section], path: KeyPath = ()) -> Iterator[tuple[KeyPath, str, bool]]:
    """Every key of the language with the `kind` of its section, and whether that is the default.

    The `kind` is empty for a section that is no member of a union.
    """
    for key, info in fields(section).items():
        options = members(info.annotation).items()
        kinds = len(options) > 1
        for kind, member in options:
            for own in fields(member):
                name = kind if kinds and kind_name(member) else ""
                yield (*path, key, own), name, name == default_kind(info)
            yield from owners(member, (*path, key))


def words(annotation: Any) -> list[str]:
    """The words among the allowed values."""
    origin = get_origin(annotation)
    if origin is Literal:
        return [value for value in get_args(annotation) if isinstance(value, str)]
    if origin is Annotated or is_by_layer(annotation):
        return words(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [word for option in get_args(annotation) for word in words(option)]
    if isinstance(annotation, type) and issubclass(annotation, Section):
        kinds = fields(annotation).get("kind")
        return words(kinds.annotation) if kinds else []
    return []


def allowed(annotation: Any, metadata: tuple[Any, ...] = ()) -> str:
    """What may be written there, in words."""
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *more = get_args(annotation)
        return allowed(inner, (*more, *metadata))
    if origin in (Union, types.UnionType):
        return _allowed_union(annotation, metadata)
    if origin in (tuple, list):
        return _allowed_list(annotation)
    if origin is Literal:
        return ", ".join(str(value) for value in get_args(annotation))
    if annotation is bool:
        return "true or false"
    if annotation is str:
        return "text" + _size(metadata)
    if annotation in (int, float):
        noun = "a whole number" if annotation is int else "a number"
        return noun + _range(metadata)
    return _allowed_section(annotation)


def _allowed_list(annotation: Any) -> str:
    items = get_args(annotation)
    each = allowed(items[0])
    if get_origin(annotation) is list:
        return f"a list, each {each}"
    if is_by_layer(annotation):
        return f"{each}; or a list of such, cycled over the layers"
    return f"a list of {len(items)}, each {each}"


def _allowed_union(annotation: Any, metadata: tuple[Any, ...]) -> str:
    """The alternatives; a union of kinds is told by its words."""
    options = [option for option in get_args(annotation) if option is not types.NoneType]
    kinds = words(annotation)
    if len(kinds) == len(options) > 1:
        return ", ".join(kinds)
    if len(members(annotation)) > 1:
        forms = "; or ".join(", ".join(fields(form)) for form in members(annotation).values())
        return f"a section with the keys {forms}"
    return " or ".join(dict.fromkeys(allowed(option, metadata) for option in options))


def _allowed_section(section: type[Section]) -> str:
    kinds = words(section)
    if kinds:
        return ", ".join(kinds)
    keys = f"a section with the keys {', '.join(fields(section))}"
    if not issubclass(section, Uniform):
        return keys
    info = next(iter(section.model_fields.values()))
    return f"{allowed(info.annotation, tuple(info.metadata))}; or {keys}"


def constraints(metadata: Iterable[Any]) -> Iterator[Any]:
    """The bounds among a field's metadata, wherever they were stated."""
    for item in metadata:
        if isinstance(item, FieldInfo):
            yield from item.metadata
        else:
            yield item


def _range(metadata: tuple[Any, ...]) -> str:
    """The bounds in words; where two limit the same end, the narrower one."""
    least, most = "", ""
    for bound in sorted(constraints(metadata), key=_width_of, reverse=True):
        match bound:
            case Ge(ge=limit):
                least = f" from {_number(limit)}"
            case Gt(gt=limit):
                least = f" above {_number(limit)}"
            case Le(le=limit):
                most = f" to {_number(limit)}"
            case Lt(lt=limit):
                most = f" and below {_number(limit)}"
    return least + most


def _width_of(bound: Any) -> float:
    """How much a bound allows, among those of the same end."""
    match bound:
        case Le(le=limit) | Lt(lt=limit):
            return float(limit)  # type: ignore[arg-type]
        case Ge(ge=limit) | Gt(gt=limit):
            return -float(limit)  # type: ignore[arg-type]
        case _:
            return 0.0


def _number(limit: Any) -> str:
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"


def _size(metadata: tuple[Any, ...]) -> str:
    text = ""
    for bound in constraints(metadata):
        match bound:
            case MinLen(min_length=limit):
                text += f" of at least {limit}"
            case MaxLen(max_length=limit):
                text += f" and at most {limit:,}"
    return f"{text} characters" if text else ""
