"""What is wrong with a value, in words that teach: what was found, and what is allowed."""

from __future__ import annotations

import math

from pydantic.fields import FieldInfo

from builder.blueprint.fields import Spot, allowed, fields, words
from builder.blueprint.nodes import Node, Scalar, child, describe
from builder.blueprint.read import scalar_value
from builder.blueprint.suggest import advise, nearest, reason
from builder.blueprint.synonyms import translate
from builder.errors import Problem

NAMELESS = "taken from the file's own name; write one, such as `name: my-model`"
"""What to say of a `name` that is none, where the blueprint gives none."""
SWITCHES = frozenset({"0", "1", "yes", "no", "on", "off", "y", "n"})
"""What other languages write for true and false."""

EXAMPLES = {
    "tokenizer": "tokenizer: char",
    "data": "data: {train: {path: train.tsv}, valid: {path: valid.tsv}}",
    "training": "training: {minutes: 10}",
}
"""A short form of each section that training needs and a blueprint may lack."""


def unknown_key(parent: Node, node: Node, spot: Spot) -> str:
    """Why the key of `node` does not exist in `parent`, and what may be meant."""
    key, section = str(spot.path[-1]), node.place.path[:-1]
    kind_node = child(parent, "kind")
    kind = str(kind_node.value) if isinstance(kind_node, Scalar) else ""
    why = reason(key, str(section[-1]) if section else "", kind)
    if why:
        return f"unknown field; {why}"
    having = [name for name, sibling in spot.siblings.items() if key in fields(sibling)]
    if kind and having:
        return f"`{kind}` has no such field; it belongs to {', '.join(having)}"
    if having:
        forms = "; or ".join(", ".join(fields(sibling)) for sibling in spot.siblings.values())
        return f"does not go together with the other keys; allowed: {forms}"
    return f"unknown field; {advise(key, node, fields(spot.owner), section)}"


def missing_key(key: str, info: FieldInfo, *, blank: bool) -> str:
    """What a section lacks; `blank` where the key is there, without a value."""
    allows = allowed(info.annotation, tuple(info.metadata))
    if blank:
        return f"needs a value, for it has no default; allowed: {allows}"
    return f"`{key}` is missing; allowed: {allows}"


def missing_section(key: str, file: str = "") -> Problem:
    """What a command cannot do without, though a blueprint can; `file` holds the blueprint."""
    return Problem(f"the section is missing; write, for example, `{EXAMPLES[key]}`", key, file)


def missing_kind(info: FieldInfo) -> str:
    """What a section lacks that could be of several kinds."""
    return f"`kind` is missing; allowed: {', '.join(words(info.annotation))}"


def wrong_value(node: Node, info: FieldInfo) -> str:
    """What was found, what is allowed, and the likeliest slip."""
    allows = allowed(info.annotation, tuple(info.metadata))
    hint = _hint(node, info, allows)
    return f"found {describe(node)}; allowed: {allows}{f'; {hint}' if hint else ''}"


def _hint(node: Node, info: FieldInfo, allows: str) -> str:
    if not isinstance(node, Scalar):
        return ""
    if isinstance(node.value, float) and not math.isfinite(node.value):
        return "numbers must be finite"
    if allows == "true or false" and node.text.lower() in SWITCHES:
        return "write true or false"
    if node.place.path == ("name",) and not node.text:
        return NAMELESS
    if node.place.path == ("generation", "max_length") and isinstance(node.value, int | float):
        return f"for {node.text} tokens write `{{ratio: 0, plus: {node.text}}}`"
    if isinstance(node.value, str):
        return _hint_for_text(node.value, words(info.annotation), allows)
    ours = translate(node.text, words(info.annotation))
    if ours:
        return f"write `{ours}`"
    return "put quotes around it" if allows.startswith("text") else ""


def _hint_for_text(text: str, choices: list[str], allows: str) -> str:
    if text == "None":
        return "write null for the default, or drop the line"
    is_number = isinstance(scalar_value(text), int | float)
    if is_number and ("number" in allows or text in allows.split(", ")):
        return "drop the quotes"
    near = translate(text, choices) or nearest(text, choices)
    return f"did you mean `{near}`?" if near else ""
