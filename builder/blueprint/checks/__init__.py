"""What must hold between the fields of a blueprint."""

from __future__ import annotations

from collections.abc import Callable

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.checks.finding import Finding
from builder.blueprint.checks.model import MODEL_CHECKS
from builder.blueprint.checks.text import TEXT_CHECKS
from builder.blueprint.checks.training import TRAINING_CHECKS
from builder.blueprint.nodes import Mapping, Path_, descend
from builder.errors import Problem


def check(
    blueprint: Blueprint, tree: Mapping, is_tainted: Callable[[Path_], bool]
) -> list[Problem]:
    """Every conflict between values that are right by themselves.

    A finding about a tainted field is left out: its value is not what the user wrote.
    """
    checks = (*MODEL_CHECKS, *TEXT_CHECKS, *TRAINING_CHECKS)
    findings = [finding for each in checks for finding in each(blueprint)]
    sound = [found for found in findings if not any(map(is_tainted, found.inputs))]
    return [_problem(finding, tree) for finding in sound]


def _problem(finding: Finding, tree: Mapping) -> Problem:
    """The finding at the last of its fields that are written, or else at the nearest section."""
    nodes = [descend(tree, path) for path in finding.inputs]
    written = [
        n for (n, depth), path in zip(nodes, finding.inputs, strict=True) if depth == len(path)
    ]
    if written:
        return max((node.place for node in written), key=lambda p: p.order()).problem(
            finding.message
        )
    nearest, depth = max(nodes, key=lambda pair: pair[1])
    path = next(path for (_, d), path in zip(nodes, finding.inputs, strict=True) if d == depth)
    return nearest.place.problem(finding.message, (*nearest.place.path, *path[depth:]))
