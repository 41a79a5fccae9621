"""A conflict between fields, before it has a place in the text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.nodes import KeyPath


@dataclass(frozen=True)
class Finding:
    """What is wrong between the fields at `inputs`."""

    inputs: tuple[KeyPath, ...]
    message: str


Check = Callable[[Blueprint], Iterable[Finding]]


def at(path: str) -> KeyPath:
    """The path that a dotted text names."""
    return tuple(path.split("."))
