"""A tree of nodes into typed values, as far as it is right, and a problem for each mistake."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from builder.blueprint.blueprint import WrittenBlueprint
from builder.blueprint.fields import Spot, fields, locate, members
from builder.blueprint.nodes import (
    KeyPath,
    Mapping,
    Node,
    Place,
    Scalar,
    Sequence,
    child,
    descend,
    raw,
    without,
    without_indices,
)
from builder.blueprint.problems import missing_key, missing_kind, unknown_key, wrong_value
from builder.blueprint.syntax import NO_SPACE, swallowed
from builder.errors import Problem

BASE = ("extends",)
"""While the base is not known, neither is what the blueprint lacks."""
PASSES = 20
"""Taking values out ends long before: each pass removes whatever the last one reported."""
PROBLEM_LIMIT = 200
"""More than this many problems tell a user nothing more."""


@dataclass
class Validation:
    """A tree under validation; what is wrong is taken out, so that the rest can be read."""

    tree: Mapping
    blanks: dict[KeyPath, Place]
    """The keys that were written without a value, by the user's own path."""
    problems: list[Problem] = field(default_factory=list)
    tainted: set[KeyPath] = field(default_factory=set)
    """The keys whose value is a default only because what was written is wrong."""

    def run(self) -> WrittenBlueprint:
        """Validate, and take out what is wrong, until the rest holds."""
        for _ in range(PASSES):
            try:
                return WrittenBlueprint.model_validate(raw(self.tree))
            except ValidationError as error:
                details = error.errors(include_url=False, include_context=False)
                self._report([_spot(detail) for detail in details])
        raise RuntimeError("validation does not settle")

    def is_tainted(self, path: KeyPath) -> bool:
        """Whether the value at `path` is not what the user wrote."""
        if BASE in self.tainted:
            return True
        keys = without_indices(path)
        return any(keys[: len(bad)] == bad or bad[: len(keys)] == keys for bad in self.tainted)

    def _report(self, errors: list[tuple[str, Spot]]) -> None:
        """A problem for each error that is not the consequence of an earlier one."""
        known = set(self.tainted)
        for kind, spot in errors:
            keys = without_indices(spot.path)
            follows = any(keys[:length] in known for length in range(len(keys) + 1))
            follows = follows or (kind == "missing" and BASE in known)
            if not follows and len(self.problems) <= PROBLEM_LIMIT:
                place, message, path = self._judge(kind, spot)
                self.problems.append(place.problem(message, path))
        self._take_out([spot for _, spot in errors])

    def _judge(self, kind: str, spot: Spot) -> tuple[Place, str, KeyPath]:
        """The place of a problem, its message, and the user's own path."""
        node, _ = descend(self.tree, spot.path)
        parent, _ = descend(self.tree, spot.path[:-1])
        if kind == "extra_forbidden":
            return node.place, unknown_key(parent, node, spot), node.place.path
        if spot.info is None:
            raise RuntimeError(f"an error of no field: {kind} at {spot.path}")
        if kind == "missing":
            path = (*parent.place.path, spot.path[-1])
            blank = self.blanks.get(path)
            chosen = child(parent, "kind")
            kind = str(chosen.value) if isinstance(chosen, Scalar) else ""
            message = missing_key(path, spot.info, blank=blank is not None, kind=kind)
            return blank or parent.place, message, path
        if kind == "union_tag_not_found" and isinstance(node, Mapping):
            return node.place, missing_kind(spot.info), node.place.path
        chosen = child(node, "kind") if kind == "union_tag_invalid" else None
        node = chosen or node
        keys = {key for form in members(spot.info.annotation).values() for key in fields(form)}
        together = swallowed(node, keys)
        if together:
            return together, NO_SPACE, together.path
        return node.place, wrong_value(node, spot.info), node.place.path

    def _take_out(self, spots: list[Spot]) -> None:
        """Remove wrong values; where one is required, its section goes with it."""
        gone: set[KeyPath] = set()
        for spot in spots:
            keys, is_list = self._way_to(spot.path)
            required = spot.info is not None and spot.info.is_required()
            keys = keys[:-1] if required and len(keys) > 1 and not is_list else keys
            gone.add(keys)
            self.tainted |= {without_indices(spot.path), keys}
        self.tree = without(self.tree, gone)
        self.tree = replace(self.tree, entries={**self._stand_ins(), **self.tree.entries})

    def _way_to(self, path: KeyPath) -> tuple[KeyPath, bool]:
        """The keys to what can be taken out, and whether that is the whole of a list."""
        for length, part in enumerate(path):
            if isinstance(part, int) and isinstance(descend(self.tree, path[:length])[0], Sequence):
                return without_indices(path[:length]), True
        return without_indices(path), False

    def _stand_ins(self) -> dict[str, Node]:
        """Values for the required keys of the top level, so that the rest can be read."""
        place = self.tree.place
        return {
            "transom": Scalar(place, 1, ""),
            "name": Scalar(place, "unnamed", ""),
            "model": Mapping(place, {}),
        }


def _spot(detail: ErrorDetails) -> tuple[str, Spot]:
    """The type and the spot of an error; a list that is too short is a wrong value."""
    spot = locate(detail["loc"], WrittenBlueprint)
    short = detail["type"] == "missing" and isinstance(spot.path[-1], int)
    return ("too_short" if short else detail["type"]), spot
