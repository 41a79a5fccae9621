"""What a user may have meant by a key that does not exist."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from collections.abc import Mapping as Entries
from dataclasses import dataclass, field

from builder.blueprint.foreign import NO, YES, Foreign, explain
from builder.blueprint.nodes import KeyPath, Mapping, Node, Scalar, dotted, without_indices
from builder.blueprint.places import choices, homes, kinds, of_kinds, on_this_side, places
from builder.blueprint.slips import is_likely, nearest
from builder.blueprint.synonyms import plain, translate
from builder.blueprint.ties import tie, ties_of
from builder.blueprint.within import KIND, REASONS, WITHIN


@dataclass(frozen=True)
class Unknown:
    """A key that does not exist, and where it was written."""

    key: str
    value: Node
    path: KeyPath
    """That of its section."""
    kind: str = ""
    """That of its section, where it is one of several."""
    section: Entries[str, Node] = field(default_factory=dict)
    """Everything that is written there."""

    @property
    def text(self) -> str:
        """The value in lower case; empty for a section and a list."""
        return self.value.text.lower() if isinstance(self.value, Scalar) else ""


def advise(unknown: Unknown, keys: Iterable[str]) -> str:
    """What to do about an unknown key of a section that has `keys`."""
    key, path, keys = unknown.key, unknown.path, list(keys)
    near = "kind" if key in KIND and "kind" in keys else nearest(key, keys)
    if near == "kind" and key not in KIND and explain(key):
        near = ""
    if near == "kind" or (near and plain(near) == plain(key)):
        return f"did you mean `{near}`?"
    own = within(key, path)
    if own:
        return _renamed(unknown, Foreign(own))
    name, home = homes(key, path)
    if name == key:
        return f"it belongs in {home}"
    if home and not (near and isinstance(unknown.value, Mapping)):
        return f"did you mean `{name}` in {home}?"
    foreign = explain(key)
    if foreign:
        return _renamed(unknown, foreign)
    return _near(key, path, keys, near)


def _near(key: str, path: KeyPath, keys: Collection[str], near: str) -> str:
    """What a key is near to in its section, or else in another one."""
    if near:
        return f"did you mean `{near}`?"
    elsewhere = nearest(key, dict.fromkeys(place[-1] for place in places() if place[-1] != "kind"))
    _, home = homes(elsewhere, path) if is_likely(key, elsewhere) else ("", "")
    if home:
        return f"did you mean `{elsewhere}` in {home}?"
    return f"allowed: {', '.join(keys) or 'nothing'}"


def meant(unknown: Unknown, keys: Collection[str]) -> tuple[str, Node]:
    """The one of a section's `keys` that an unknown key stands for, and its value there.

    They are the key and the value themselves where nothing is known of them.
    """
    key, value, own = unknown.key, unknown.value, within(unknown.key, unknown.path)
    if key in KIND and "kind" in keys:
        return "kind", value
    foreign = Foreign(own) if own else explain(key)
    if foreign is None or (foreign.ours and not _stands_in(foreign.ours, unknown.path, keys)):
        return nearest(key, keys) or key, value
    ours = _value(unknown, foreign)
    if ours:
        truth = {"true": True, "false": False}.get(ours)
        value = Scalar(value.place, ours if truth is None else truth, ours)
    elif not foreign.ours or (
        (foreign.values or ties_of(key)) and not _is_choice(unknown, foreign)
    ):
        return key, value
    return foreign.ours.rpartition(".")[2], value


def _stands_in(ours: str, path: KeyPath, keys: Collection[str]) -> bool:
    """Whether the section at `path`, which has `keys`, has this key of ours."""
    key = ours.rpartition(".")[2]
    there = f"{dotted(without_indices(path))}.kind"
    return key in keys and (key != "kind" or on_this_side(ours, path) == there)


def _is_choice(unknown: Unknown, foreign: Foreign) -> bool:
    return unknown.text in choices().get(tuple(foreign.ours.split(".")), ())


def reason(key: str, section: str, kind: str) -> str:
    """Why `key`, or ours for it, does not exist there; empty where no reason is worth a word."""
    foreign = explain(key)
    ours = foreign.ours.rpartition(".")[2] if foreign else key
    known = (REASONS.get(pair) for name in (key, ours) for pair in ((kind, name), (section, name)))
    return next(filter(None, known), "")


def within(key: str, path: KeyPath) -> str:
    """Our path for a key that has a meaning of its own in the section at `path`, if it has."""
    section = next((part for part in reversed(path) if isinstance(part, str)), "")
    names = WITHIN.get(section, {}).items()
    return next((ours for ours, theirs in names if key in theirs.split()), "")


def _renamed(unknown: Unknown, foreign: Foreign) -> str:
    """What the key of another toolkit is called here, and what its value is."""
    apart = _tokenizer(unknown, foreign.ours)
    if apart:
        return apart
    advice = [_called(unknown, foreign)] if foreign.ours else []
    value = _value(unknown, foreign)
    advice += [f"write `{value}`"] if value else []
    return "; ".join([*advice, foreign.note] if foreign.note else advice)


def _called(unknown: Unknown, foreign: Foreign) -> str:
    """The name of our key, with the kinds that have it where the default kind has it not."""
    name = on_this_side(foreign.ours, unknown.path)
    owners = (foreign.kind,) if foreign.kind else kinds().get(tuple(name.split(".")), ())
    if name.rpartition(".")[0] == dotted(unknown.path) and unknown.kind in owners:
        owners = ()
    return f"here it is called `{name}`{of_kinds(owners)}"


def _value(unknown: Unknown, foreign: Foreign) -> str:
    """Our value for theirs; empty where it means the same, or nobody knows."""
    if ties_of(unknown.key) and unknown.text in (*YES, *NO):
        return tie(unknown.section)
    known = foreign.values.get(unknown.text, "")
    allowed = choices().get(tuple(foreign.ours.split(".")), ())
    if known or _is_choice(unknown, foreign):
        return known
    said = translate(unknown.key, allowed) if unknown.text in YES else ""
    return said or translate(unknown.text, allowed)


SIDES = {"data.train.source": "tokenizer.source", "data.train.target": "tokenizer.target"}
"""What `src` and `trg` are where they are files, and where they are sections."""


def _tokenizer(unknown: Unknown, ours: str) -> str:
    """Where the recipe of a tokenizer belongs that stands below the name of a side."""
    if ours not in SIDES or not isinstance(unknown.value, Mapping):
        return ""
    told = []
    for key in unknown.value.entries:
        foreign = explain(key)
        if foreign and foreign.ours.startswith("tokenizer."):
            told.append(f"`{foreign.ours.rpartition('.')[2]}` for `{key}`")
    return f"here it is called `{SIDES[ours]}`" + (f", with {' and '.join(told)}" if told else "")
