"""A tree of an older version of the format into one of the current version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import get_args

from builder.blueprint.blueprint import WrittenBlueprint
from builder.blueprint.nodes import Broken, Mapping, Node, Scalar, is_blank
from builder.blueprint.problems import missing_key, wrong_value
from builder.blueprint.slips import nearest
from builder.errors import BlueprintError, Problem

Migration = Callable[[Mapping], Mapping]
"""A tree as it was written into the same one a version later; what is kept keeps its place."""

FIELD = WrittenBlueprint.model_fields["transom"]
VERSION: int = get_args(FIELD.annotation)[0]
"""The current version."""

MIGRATIONS: dict[int, Migration] = {}
"""From each older version, the step to the next."""


def lift(tree: Mapping) -> tuple[Mapping, list[Problem]]:
    """The tree in the current version, and what is wrong with the version that it states.

    Raises:
        BlueprintError: It was written for a later version, so nothing else can be judged.
    """
    node = tree.entries.get("transom")
    if isinstance(node, Broken):
        return _stated(tree), []
    version = _whole(node)
    if version is not None and version > VERSION:
        message = f"found {version}: written for a later Transom; this one reads up to {VERSION}"
        raise BlueprintError([(node or tree).place.problem(message)])
    if version != VERSION and version not in MIGRATIONS:
        misspelt = node is None and any(nearest(key, ["transom"]) for key in [*tree.entries][:20])
        return _stated(tree), [] if misspelt else [_problem(tree, node)]
    for step in range(version, VERSION):
        tree = MIGRATIONS[step](tree)
    return _stated(tree), []


def _whole(node: Node | None) -> int | None:
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value % 1 == 0 else None


def _problem(tree: Mapping, node: Node | None) -> Problem:
    if node is None or is_blank(node):
        message = missing_key(("transom",), FIELD, blank=node is not None)
        return (node or tree).place.problem(message, ("transom",))
    return node.place.problem(wrong_value(node, FIELD))


def _stated(tree: Mapping) -> Mapping:
    """The tree with the current version under its key, so that nothing is told twice."""
    place = tree.entries.get("transom", tree).place
    return replace(tree, entries={**tree.entries, "transom": Scalar(place, VERSION, str(VERSION))})
