"""The page of reference is current and tells every key of the language as the loader takes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic.fields import FieldInfo

from builder.blueprint.blueprint import WrittenBlueprint
from builder.blueprint.fields import (
    allowed,
    fields,
    is_by_layer,
    kind_name,
    members,
    walk_schema,
    words,
)
from builder.blueprint.load import parse_blueprint
from builder.blueprint.model import Encoder, Stack
from builder.blueprint.plan.drawing import draw_masks
from builder.blueprint.read import scalar_value
from builder.blueprint.reference import reference_text
from builder.blueprint.section import Section

DOCS = Path(__file__).parents[2] / "docs"
PAGE = reference_text()
LANGUAGE = (DOCS / "language.md").read_text(encoding="utf-8")

PLACES: dict[str, list[str]] = {}
"""The rest of the page below each heading, by the first of the places that it names."""
HOMES: dict[str, str] = {}
"""That first place, for every place that a heading names."""
for part in re.split(r"^##+ ", PAGE, flags=re.MULTILINE)[1:]:
    names = re.findall("`([^`]+)`", part.splitlines()[0]) or [""]
    PLACES[names[0]] = part.splitlines()[1:]
    HOMES |= dict.fromkeys(names, names[0])

KEYS = [
    (".".join(map(str, path)), info)
    for path, info in walk_schema(WrittenBlueprint)
    if path[-1] != "kind" or len(words(info.annotation)) > 1
]
"""Every key of the language; a key of several kinds comes once for each."""
FILLED_IN = {"name", "tokenizer.shared", "tokenizer.source", "tokenizer.target"} | {
    "data.train",
    "data.valid",
}
"""Required keys that the loader fills in where a user leaves them out."""

LIMIT = r"(?:from|above|below|to) \d[\d,]*(?:\.\d+)?(?:e\+\d+)?"
UNTOLD = {"to 2,147,483,647", "to 1e+12"}
"""Limits that the page tells once for all keys."""


def rows(home: str) -> dict[str, list[list[str]]]:
    """The cells of the rows below a heading, by key."""
    found: dict[str, list[list[str]]] = {}
    for line in PLACES[home]:
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| `"):
            found.setdefault(cells[0].strip("`"), []).append(cells)
    return found


def home_of(key: str) -> tuple[str, str]:
    """The heading below which the page tells the key, and the key's last part."""
    *above, last = key.split(".")
    home = ""
    for part in above:
        place = f"{home}.{part}".lstrip(".")
        if home in ("model.encoder", "model.decoder") and part in Stack.model_fields:
            place = f"model.{part}"
        home = HOMES[place]
    both = home in ("model.encoder", "model.decoder") and last in Stack.model_fields
    return ("model" if both else home), last


def default_of(info: FieldInfo) -> object:
    """The default as a user may write it; None where the key has no default of its own."""
    value = info.default[0] if is_by_layer(info.annotation) else info.default
    if isinstance(value, Section):
        return kind_name(type(value)) or None
    return list(value) if isinstance(value, tuple) else value


def tells_default(cell: str, key: str, info: FieldInfo) -> bool:
    if info.is_required():
        return cell == ("–" if key in FILLED_IN else "required")
    value = default_of(info)
    if value is None:
        return cell == "–" or not words(info.annotation)
    text = cell.strip("`").replace('""', "")
    return (
        text == str(value)
        if isinstance(value, list)
        else (scalar_value(text) if text else "") == value
    )


def test_the_page_is_current() -> None:
    """Renew it: transom schema --markdown > docs/blueprint.md."""
    assert (DOCS / "blueprint.md").read_text(encoding="utf-8") == PAGE + "\n"


@pytest.mark.parametrize(("key", "info"), KEYS, ids=[key for key, _ in KEYS])
def test_every_key_has_a_row(key: str, info: FieldInfo) -> None:
    home, last = home_of(key)
    told = rows(home)[last]
    place = f"{home}.{last}".lstrip(".")
    section = PLACES[HOMES[place]] if place in HOMES else []
    carried = home == "model" and key.startswith(("model.encoder", "model.decoder"))

    assert all(meaning for *_, meaning in told)
    assert carried or any(tells_default(default, key, info) for _, _, default, _ in told)
    for word in words(info.annotation):
        assert f"`{word}`" in " ".join([told[0][1], *section])
    for limit in set(re.findall(LIMIT, allowed(info.annotation))) - UNTOLD:
        assert any(limit in can_be for _, can_be, *_ in told)


def test_every_row_is_a_key() -> None:
    known = {home_of(".".join(map(str, path))) for path, _ in walk_schema(WrittenBlueprint)}

    assert {(home, key) for home in PLACES for key in rows(home)} <= known


def test_every_section_has_its_heading_once() -> None:
    headings = re.findall(r"^##+ (.+)$", PAGE, flags=re.MULTILINE)
    sections = {key for key, info in KEYS if members(info.annotation)}
    own = {key for key in sections if not re.match(r"model\.(en|de)coder\.", key)}
    own |= {key for key in sections if key.endswith((".mask", ".cross_attention"))}

    assert len(headings) == len(set(headings))
    assert {HOMES[key] for key in own if not re.search(r"data\.(valid|test)\.", key)} <= set(PLACES)


def test_links_lead_somewhere() -> None:
    headings = re.findall(r"^#+ (.+)$", PAGE, flags=re.MULTILINE)
    anchors = {"".join(c for c in h.lower() if c.isalnum() or c in " -_") for h in headings}
    links = dict(re.findall(r"^\[(`[^`]+`)\]: #(\S+)$", PAGE, flags=re.MULTILINE))

    assert set(re.findall(r"\[(`[^`]+`)\](?!:)", PAGE)) <= set(links)
    assert set(links.values()) <= {anchor.replace(" ", "-") for anchor in anchors}


def test_every_kind_of_mask_has_its_picture() -> None:
    text = "\n".join(PLACES["model.encoder.mask"])
    pictured: set[str] = set()
    for block in re.findall("```text\n(.*?)\n```", text, re.DOTALL):
        caption, *lines = (re.split(r" {3,}", line) for line in block.splitlines())
        for column, mask in enumerate(caption):
            blueprint = f"transom: 1\nmodel: {{encoder: {{mask: {mask}}}}}"
            model = parse_blueprint(blueprint, "bp.yaml", name="bp").model
            drawn = next(each for each in draw_masks(model) if "encoder" in each.stacks)
            assert [line[column] for line in lines] == list(drawn.rows)
            pictured.add(drawn.mask.split()[0])

    assert pictured == set(words(fields(Encoder)["mask"].annotation))


def test_the_examples_of_the_language_are_valid() -> None:
    examples = re.findall("```yaml\n(.*?)```", LANGUAGE, re.DOTALL)
    assert examples
    for example in examples:
        parse_blueprint(example, "example.yaml", name="example")
