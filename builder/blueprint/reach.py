"""Keys that hold for both sides and reach neither, because a lower file writes both."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from builder.blueprint.cascade import RECIPE_KEYS, STACK_KEYS
from builder.blueprint.nodes import (
    KeyPath,
    Mapping,
    Node,
    Place,
    Source,
    child,
    descend,
    dotted,
    walk,
)
from builder.errors import Problem

SHARED = {
    "model": (STACK_KEYS, ("encoder", "decoder")),
    "tokenizer": (RECIPE_KEYS, ("source", "target")),
}
"""By section, the keys for both sides, and the sides."""

Leaves = list[tuple[KeyPath, Place]]


def unreached(tree: Mapping, is_tainted: Callable[[KeyPath], bool]) -> list[Problem]:
    """A problem for each shared key of the cascaded tree that a file or flag writes in vain.

    A file that writes both sides itself beside the shared key means it, and nothing is said.
    """
    problems: list[Problem] = []
    for name, (keys, names) in SHARED.items():
        section = tree.entries.get(name)
        sides = [side for side in (child(section, each) for each in names) if side]
        taken = {node.place for side in sides for _, node in walk(side)}
        for key in keys:
            shared = child(section, key)
            if shared is None or len(sides) < len(names) or is_tainted((name, key)):
                continue
            for leaves in _by_source(shared, key):
                if not any(place in taken for _, place in leaves):
                    problems += _in_vain(leaves, sides)
    return problems


def _by_source(shared: Node, key: str) -> list[Leaves]:
    """The values under a shared key, those of each file or flag together."""
    found: dict[Source, Leaves] = {}
    for path, node in walk(shared, (key,)):
        if not isinstance(node, Mapping):
            found.setdefault(node.place.source, []).append((path, node.place))
    return list(found.values())


def _in_vain(leaves: Leaves, sides: list[Node]) -> Iterator[Problem]:
    """The problem, if some of what stands in the way stands in a lower file."""
    ours = leaves[0][1]
    ahead = [descend(side, path)[0].place for path, _ in leaves for side in sides]
    if any(_layer(place) < _layer(ours) for place in ahead):
        written = " and ".join(f"`{dotted(place.path)}`" for place in ahead[: len(sides)])
        yield ours.problem(f"has no effect: {written} are written, and the more specific key wins")


def _layer(place: Place) -> tuple[bool, int]:
    """The rank of a file or flag: flags above the file, and the file above its bases."""
    is_flag, height, _, _ = place.order()
    return is_flag, height
