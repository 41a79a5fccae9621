"""What must hold between the fields of a blueprint."""

from __future__ import annotations

from collections.abc import Callable

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.checks.attention import ATTENTION_CHECKS
from builder.blueprint.checks.finding import Finding
from builder.blueprint.checks.generation import GENERATION_CHECKS
from builder.blueprint.checks.sizes import SIZE_CHECKS
from builder.blueprint.checks.stacks import STACK_CHECKS
from builder.blueprint.checks.text import TEXT_CHECKS
from builder.blueprint.checks.training import TRAINING_CHECKS
from builder.blueprint.nodes import KeyPath, Mapping, Place, descend
from builder.errors import Problem

CHECKS = (
    *ATTENTION_CHECKS,
    *STACK_CHECKS,
    *SIZE_CHECKS,
    *TEXT_CHECKS,
    *TRAINING_CHECKS,
    *GENERATION_CHECKS,
)


def check(
    blueprint: Blueprint, tree: Mapping, is_tainted: Callable[[KeyPath], bool]
) -> list[Problem]:
    """Every conflict between values that are right by themselves.

    A finding about a tainted field is left out: its value is not what the user wrote.
    """
    findings = [finding for each in CHECKS for finding in each(blueprint)]
    sound = [found for found in findings if not any(map(is_tainted, found.inputs))]
    return [_problem(finding, tree) for finding in sound]


def _problem(finding: Finding, tree: Mapping) -> Problem:
    """The finding at the last of its fields that are written, or else at the nearest section."""
    found = [(*descend(tree, path), path) for path in finding.inputs]
    written = [node.place for node, depth, path in found if depth == len(path)]
    if written:
        return max(written, key=Place.order).problem(finding.message)
    section, depth, path = max(found, key=lambda one: one[1])
    return section.place.problem(finding.message, (*section.place.path, *path[depth:]))
