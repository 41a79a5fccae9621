"""What is wrong with a value, in words that teach: what was found, and what is allowed."""

from __future__ import annotations

import math
from typing import get_args, get_origin

from pydantic.fields import FieldInfo

from builder.blueprint.examples import SECTIONS, example
from builder.blueprint.fields import Spot, allowed, fields, words
from builder.blueprint.nodes import KeyPath, Mapping, Node, Scalar, child, describe, shorten
from builder.blueprint.read import scalar_value
from builder.blueprint.suggest import Unknown, advise, reason
from builder.blueprint.synonyms import translate
from builder.blueprint.values import advise_word
from builder.errors import Problem

NAMELESS = "taken from the file's own name; write one, such as `name: my-model`"
"""What to say of a `name` that is none, where the blueprint gives none."""
SWITCHES = frozenset({"0", "1", "yes", "no", "on", "off", "y", "n"})
"""What other languages write for true and false."""
TOO_LITTLE = {
    "temperature": "the likeliest token at every step is `kind: greedy`",
    "top_k": "leave it out to draw among all tokens",
    "top_p": "leave it out to draw among all tokens",
    "no_repeat_ngram_size": "leave it out to let anything come again",
    "min_length": "1 is no bound, for EOS counts",
    "n_best": "1 is the best alone",
    "beams": "1 is the same as `kind: greedy`",
}
"""What others write as 0 or less in `generation`, and what to write for it."""
LITTLE = 1e-6
"""What is below it is as good as 0."""


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
        owners = " or ".join(f"`kind: {name}`" for name in having)
        return f"`{kind}` has no such field; it belongs to {owners}"
    if having:
        forms = "; or ".join(", ".join(fields(sibling)) for sibling in spot.siblings.values())
        return f"does not go together with the other keys; allowed: {forms}"
    written = parent.entries if isinstance(parent, Mapping) else {}
    unknown = Unknown(key, node, section, kind, written)
    return f"unknown field; {advise(unknown, fields(spot.owner))}"


def missing_key(path: KeyPath, info: FieldInfo, *, blank: bool, kind: str = "") -> str:
    """What the section at `path[:-1]` lacks; `blank` where the key is there, without a value."""
    allows = allowed(info.annotation, tuple(info.metadata))
    form = example(path, kind)
    allows += f"; write, for example, `{form}`" if form else ""
    if blank:
        return f"needs a value, for it has no default; allowed: {allows}"
    return f"`{path[-1]}` is missing; allowed: {allows}"


def missing_section(key: str, file: str = "") -> Problem:
    """What a command cannot do without, though a blueprint can; `file` holds the blueprint."""
    return Problem(f"the section is missing; write, for example, `{SECTIONS[key]}`", key, file)


def missing_kind(info: FieldInfo) -> str:
    """What a section lacks that could be of several kinds."""
    return f"`kind` is missing; allowed: {', '.join(words(info.annotation))}"


def wrong_value(node: Node, info: FieldInfo) -> str:
    """What was found, what is allowed, and the likeliest slip."""
    allows = allowed(info.annotation, tuple(info.metadata))
    if get_origin(info.annotation) is list and isinstance(node.place.path[-1], int):
        allows = allowed(get_args(info.annotation)[0])
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
    if isinstance(node.value, int | float) and node.place.path[:1] == ("generation",):
        return _hint_for_generation(node.place.path[-1], node.value, node.text)
    if isinstance(node.value, str):
        return _hint_for_text(node, node.value, info, allows)
    ours = translate(node.text, words(info.annotation))
    if ours:
        return f"write `{ours}`"
    return "put quotes around it" if allows.startswith("text") else ""


def _hint_for_generation(key: str | int, value: float, text: str) -> str:
    if key == "max_length":
        return f"for {text} tokens write `{{ratio: 0, plus: {text}}}`"
    if value < LITTLE and key in TOO_LITTLE:
        return TOO_LITTLE[key]
    return "put quotes around it" if isinstance(key, int) else ""


def _hint_for_text(node: Node, text: str, info: FieldInfo, allows: str) -> str:
    if text == "None":
        return "write null for the default, or drop the line"
    if allows.startswith("a list") and text:
        return f"write `[{shorten(text)}]`"
    is_number = isinstance(scalar_value(text), int | float)
    if is_number and ("number" in allows or text in allows.split(", ")):
        return "drop the quotes"
    return advise_word(text, words(info.annotation), node.place.path)
