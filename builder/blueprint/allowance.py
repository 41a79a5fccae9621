"""What a JSON Schema allows to stand under a key, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from builder.blueprint.schema import Schema

UNTOLD = (2**31 - 1, 1e12)
"""Upper limits that are told once, in the introduction."""
TYPES = ("boolean", "string", "integer", "number", "array")
LIMITS = {
    "minimum": "from",
    "exclusiveMinimum": "above",
    "maximum": "to",
    "exclusiveMaximum": "and below",
}


def options(schema: Schema) -> Iterator[Schema]:
    """The schemas among which a value may choose, without null; `type` is one word."""
    if "anyOf" in schema:
        for option in schema["anyOf"]:
            yield from options(option)
        return
    types = schema.get("type", [])
    name = next((each for each in [types, *types] if each in TYPES), "")
    if name or "type" not in schema:
        yield {**schema, "type": name}


def by_layer(option: Schema) -> bool:
    """Whether the option is a list that is cycled over the layers."""
    return "items" in option and "minItems" in option


def sections(schema: Schema) -> tuple[str, ...]:
    """The definitions of the sections that may stand there, alone or in a list."""
    found: dict[str, None] = {}
    for option in options(schema):
        if "$ref" in option:
            found[option["$ref"].rpartition("/")[2].removesuffix(".inheriting")] = None
        elif "items" in option:
            found |= dict.fromkeys(sections(option["items"]))
    return tuple(found)


def single_values(schema: Schema) -> list[Any]:
    """The words and other single values that may stand there."""
    found: list[Any] = []
    for option in options(schema):
        found += [option["const"]] if "const" in option else option.get("enum", [])
    return [value for value in dict.fromkeys(found) if value is not None]


def figure(option: Schema) -> str:
    """A number, a text or a list, in words; empty for anything else."""
    match option["type"]:
        case "boolean":
            return "`true`, `false`"
        case "string":
            return "text" + _length(option)
        case "integer":
            return "a whole number" + _range(option)
        case "number":
            return "a number" + _range(option)
        case "array" if "prefixItems" in option:
            items = option["prefixItems"]
            return f"a list of {len(items)}, each {figure(items[0])}"
        case "array" if not by_layer(option):
            return f"a list, each {figure(option['items'])}"
    return ""


def _length(option: Schema) -> str:
    if "maxLength" in option:
        return f" of {option.get('minLength', 0)} to {option['maxLength']:,} characters"
    return f" of {option['minLength']} or more characters" if "minLength" in option else ""


def _range(option: Schema) -> str:
    limits = {word: option[key] for key, word in LIMITS.items() if key in option}
    return "".join(f" {word} {value:,}" for word, value in limits.items() if value not in UNTOLD)


def on_one_line(value: Any) -> str:
    """A value as one would write it on one line."""
    match value:
        case bool():
            return str(value).lower()
        case float():
            return re.sub(r"e([+-])0?", r"e\1", repr(value)).replace("e+", "e")
        case list():
            return f"[{', '.join(map(on_one_line, value))}]"
        case dict():
            return f"{{{', '.join(f'{key}: {on_one_line(each)}' for key, each in value.items())}}}"
    return str(value) or '""'
