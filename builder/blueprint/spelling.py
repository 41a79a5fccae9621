"""Misspelt keys read as what they seem to mean, so that nothing else is blamed for them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial

from builder.blueprint.blueprint import WrittenBlueprint
from builder.blueprint.cascade import Entries, each, expand, rewrite
from builder.blueprint.fields import fields, members
from builder.blueprint.nodes import KeyPath, Mapping, Node, Place, walk
from builder.blueprint.section import Section
from builder.blueprint.suggest import Unknown, meant

MOST = 200
"""Misspelt keys of one section that are read; more are no slips."""


def read_as_meant(root: Mapping) -> tuple[Mapping, set[Place]]:
    """The tree with the value of each misspelt key under the right one too, and their places.

    The misspelt keys stay, so that they are told; so does a right key that the same file writes.
    """
    guessed: set[Place] = set()

    def one(node: Node, forms: Collection[type[Section]]) -> Node:
        return _filled(node, forms, guessed) if isinstance(node, Mapping) else node

    def fill(entries: Entries, schema: type[Section]) -> Entries:
        forms = {
            key: members(info.annotation).values()
            for key, info in fields(schema).items()
            if key in entries
        }
        return {
            key: each(node, partial(one, forms=forms[key])) if key in forms else node
            for key, node in entries.items()
        }

    filled = rewrite(_filled(root, [WrittenBlueprint], guessed), WrittenBlueprint, fill)
    return expand(filled), guessed


def guesses(tree: Mapping, guessed: set[Place]) -> set[KeyPath]:
    """The paths under which the values of misspelt keys were put, wherever they were carried."""
    return {
        path
        for path, node in walk(tree)
        if node.place in guessed and path[-1] != node.place.path[-1]
    }


def _filled(section: Mapping, forms: Collection[type[Section]], guessed: set[Place]) -> Mapping:
    """The section, which has one of the forms, with the right keys for its misspelt ones.

    The right ones are those of the forms that have all keys which are not misspelt.
    """
    every = {key for form in forms for key in fields(form)}
    known = section.entries.keys() & every
    fitting = [key for form in forms if known <= fields(form).keys() for key in fields(form)]
    entries = dict(section.entries)
    for key in [key for key in entries if key not in every][:MOST]:
        path = entries[key].place.path[:-1]
        right, node = meant(Unknown(key, entries[key], path, section=section.entries), fitting)
        if right in fitting and _wins(node, entries.get(right)):
            entries[right] = node
            guessed.add(node.place)
    return replace(section, entries=entries)


def _wins(node: Node, written: Node | None) -> bool:
    """Whether `node` stands in a file or flag above that of what is written, if anything is."""
    if written is None:
        return True
    ours, theirs = node.place, written.place
    return ours.source is not theirs.source and ours.order() > theirs.order()
