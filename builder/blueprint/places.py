"""Where the keys and words of the language stand, and which kinds of section have them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import takewhile

from builder.blueprint.blueprint import WrittenBlueprint
from builder.blueprint.data import SPLITS
from builder.blueprint.fields import owners, walk_schema, words
from builder.blueprint.nodes import KeyPath, dotted
from builder.blueprint.synonyms import plain
from builder.blueprint.within import LOCAL

SIDES = frozenset({"encoder", "decoder", "source", "target", *SPLITS})

Place = tuple[str, ...]
"""The path of a key of the language."""


@cache
def places() -> tuple[Place, ...]:
    """Every key of the language."""
    return tuple(tuple(map(str, path)) for path, _ in walk_schema(WrittenBlueprint))


@cache
def choices() -> dict[Place, tuple[str, ...]]:
    """The words that may stand under each key of the language that takes words."""
    found: dict[Place, dict[str, None]] = {}
    for path, info in walk_schema(WrittenBlueprint):
        found.setdefault(tuple(map(str, path)), {}).update(dict.fromkeys(words(info.annotation)))
    return {place: tuple(allowed) for place, allowed in found.items() if allowed}


@cache
def kinds() -> dict[Place, tuple[str, ...]]:
    """The kinds of section that have a key, by its place, where the default kind has it not."""
    found: dict[Place, list[str]] = {}
    usual: set[Place] = set()
    for path, kind, is_default in owners(WrittenBlueprint):
        place = tuple(map(str, path))
        found.setdefault(place, []).append(kind)
        if is_default or not kind or place[-1] == "kind":
            usual.add(place)
    return {place: tuple(each) for place, each in found.items() if place not in usual}


def on_this_side(ours: str, path: KeyPath) -> str:
    """Our key for one side, where the user writes about one side: `model.encoder.layers`."""
    section, *rest = ours.split(".")
    if len(path) < 2 or path[0] != section or path[1] not in SIDES:
        return ours
    side = (section, str(path[1]))
    known = set(places())
    narrow = [(*side, *rest[skipped:]) for skipped in (0, 1) if rest[skipped:]]
    return next((dotted(found) for found in narrow if found in known), ours)


def homes(key: str, path: KeyPath) -> tuple[str, str]:
    """The key that `key` is, and in words the sections nearest to `path` that have it.

    Case, underscores and plural do not count. Both are empty if no section has it.
    """
    alike = _by_key().get(plain(key), [])
    found = [place for place in alike if place[-1] == key] or alike
    if key in LOCAL:
        found = [place for place in found if place[:1] == path[:1]]
    near = nearest_to(path, found)
    near = [place for place in near if place not in kinds()] or near
    sections: dict[str, list[str]] = {}
    for place in dict.fromkeys(near):
        home = dotted(place[:-1])
        title = f"`{home}`" if home else "the top level"
        sections.setdefault(of_kinds(kinds().get(place, ())), []).append(title)
    told = " or ".join(f"{' or '.join(names)}{of}" for of, names in sections.items())
    return (near[0][-1] if near else ""), told


def of_kinds(names: Iterable[str]) -> str:
    """Which kinds of section a key is of, as the end of a sentence; empty where it is of all."""
    kinds = " or ".join(f"`kind: {name}`" for name in names)
    return f", of {kinds}" if kinds else ""


def nearest_to(path: KeyPath, found: Iterable[Place]) -> list[Place]:
    """The places that have the most in common with `path`, the shortest of them."""

    def distance(place: Place) -> tuple[int, int]:
        pairs = zip(place, path, strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        return -shared, len(place)

    found = list(found)
    best = min(map(distance, found), default=None)
    return [place for place in found if distance(place) == best]


@cache
def _by_key() -> dict[str, list[Place]]:
    """The places of every key, by its plain form."""
    found: dict[str, list[Place]] = {}
    for place in places():
        if place[-1] != "kind":
            found.setdefault(plain(place[-1]), []).append(place)
    return found
