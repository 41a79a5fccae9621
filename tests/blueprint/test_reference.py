"""The reference page names every key of the language, with its default and its words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic.fields import FieldInfo

from builder.blueprint.blueprint import WrittenBlueprint
from builder.blueprint.fields import members, walk_schema, words
from builder.blueprint.load import parse_blueprint
from builder.blueprint.nodes import KeyPath, dotted
from builder.blueprint.read import scalar_value

PAGE = (Path(__file__).parents[2] / "docs" / "blueprint.md").read_text(encoding="utf-8")

KEYS: list[tuple[str, FieldInfo]] = [
    (dotted(path), info) for path, info in walk_schema(WrittenBlueprint) if path[-1] != "kind"
]
"""Every key of the language; a key of several kinds comes once for each."""

COPIES = (
    (r"^model\.(encoder\.|decoder\.)?", ""),
    (r"^cross_attention\.", "attention."),
    (r"^tokenizer\.(source|target)\.", "tokenizer."),
    (r"^data\.(train|valid|test)\.", ""),
)
"""How the page shortens a key that has the same meaning in several places."""

FILLED_IN = {"name", "tokenizer.shared", "tokenizer.source", "tokenizer.target"}
"""Required keys that the loader fills in where a user leaves them out."""


def rows() -> dict[str, list[str]]:
    """The cells of each row of the page, under each key that its first cell names."""
    found: dict[str, list[str]] = {}
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| `"):
            for key in re.findall("`([^`:]+)[:`]", cells[0]):
                found.setdefault(key, cells)
    return found


def row_of(key: str) -> list[str] | None:
    table = rows()
    while key not in table:
        shorter = key
        for pattern, replacement in COPIES:
            shorter = re.sub(pattern, replacement, shorter)
        if shorter == key:
            return None
        key = shorter
    return table[key]


def is_plain_section(info: FieldInfo) -> bool:
    """Whether the key only holds other keys."""
    return len(members(info.annotation)) == 1 and not words(info.annotation)


@pytest.mark.parametrize(("key", "info"), KEYS, ids=[key for key, _ in KEYS])
def test_every_key_has_a_row_with_its_default_and_words(key: str, info: FieldInfo) -> None:
    row = row_of(key)
    if row is None:
        assert is_plain_section(info)
        return
    default, value = row[1], info.default
    if info.is_required() and key not in FILLED_IN:
        assert "required" in default
    elif isinstance(value, bool | int | float | str):
        quoted = re.findall("`([^`]*)`", default)
        assert value in [scalar_value(text) if text != '""' else "" for text in quoted]
    elif isinstance(value, tuple):
        assert f"`{list(value)}`" in default
    assert all(re.search(rf"\b{word}\b", " ".join(row)) for word in words(info.annotation))


def test_every_key_of_the_page_exists() -> None:
    known = {path for path, _ in walk_schema(WrittenBlueprint)}
    ends: set[KeyPath] = {path[start:] for path in known for start in range(len(path))}
    assert set(rows()) <= {dotted(end) for end in ends}


def test_the_examples_of_the_page_are_valid() -> None:
    examples = re.findall("```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert examples
    for example in examples:
        parse_blueprint(example, "example.yaml", name="example")
