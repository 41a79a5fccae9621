"""Overrides from the command line, `model.d_model=256`, read exactly as in a file."""

from __future__ import annotations

from collections.abc import Sequence

from builder.blueprint.nodes import Mapping, Node, Place, Scalar, Source
from builder.blueprint.read import read
from builder.errors import BlueprintError, Problem


def read_overrides(overrides: Sequence[str]) -> tuple[list[Mapping], list[Problem]]:
    """One tree for each override, whose places name its flag, and what is wrong with the rest."""
    trees: list[Mapping] = []
    problems: list[Problem] = []
    for override in overrides:
        try:
            tree, found = _read_override(override)
        except BlueprintError as error:
            problems += error.problems
        else:
            trees.append(tree)
            problems += found
    return trees, problems


def flag_name(override: str) -> str:
    """How messages name an override."""
    return f"--set {override}"


def allow_only(overrides: Sequence[str], *sections: str, reason: str) -> None:
    """Refuse overrides of keys outside `sections`; `reason` says why the others stand fast.

    Raises:
        BlueprintError: With every such override.
    """
    keys = {override: override.partition("=")[0].strip() for override in overrides}
    allowed = " and ".join(f"`{section}.*`" for section in sections)
    problems = [
        Problem(f"{reason}; what can be set: {allowed}", path=key, file=flag_name(override))
        for override, key in keys.items()
        if key.partition(".")[0] not in sections
    ]
    if problems:
        raise BlueprintError(problems)


def _read_override(override: str) -> tuple[Mapping, list[Problem]]:
    flag = Source(flag_name(override))
    dotted, equals, text = override.partition("=")
    path = tuple(dotted.strip().split("."))
    if not equals or not all(path):
        message = "an override is `key=value`, such as `model.d_model=256`"
        raise BlueprintError([Problem(message, file=flag.name)])
    if path[0] == "extends":
        message = "an override changes a blueprint; what it extends is written in its file"
        raise BlueprintError([Problem(message, "extends", flag.name)])
    value, problems = read(text, flag, path)
    node: Node = value or Scalar(Place(flag, 1, 1, path), None, "")
    for depth in reversed(range(1, len(path))):
        node = Mapping(Place(flag, 1, 1, path[:depth]), {path[depth]: node})
    return Mapping(Place(flag, 1, 1), {path[0]: node}), problems
