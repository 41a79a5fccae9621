"""What a user may have meant by a key or word that does not exist."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from itertools import takewhile

from builder.blueprint.blueprint import WrittenBlueprint
from builder.blueprint.data import SPLITS
from builder.blueprint.fields import walk_schema
from builder.blueprint.foreign import explain
from builder.blueprint.nodes import KeyPath, Node, Scalar, dotted
from builder.blueprint.synonyms import plain

REASONS = {
    ("cross_attention", "positions"): "cross-attention has no positions of its own",
    ("cross_attention", "mask"): "cross-attention sees the whole source; it has no mask of its own",
    ("noam", "learning_rate"): "`noam` sets the rate by itself; scale it with `factor`",
    ("training", "precision"): "not offered yet: all is computed in float32",
    ("tokenizer", "dropout"): "not offered: a tokenizer cuts a text always alike",
    ("export", "path"): "not in a blueprint: `transom export` takes `--out FILE`",
} | dict.fromkeys(
    (("generation", key) for key in ("size", "alpha", "beta", "early_stopping", "patience")),
    "not offered yet: beam search; outputs are `greedy`",
)
"""Why a key that could be expected does not exist, by its section and name."""

FILES = {
    "data.train.path": "file files filename",
    "data.train.columns": "column source_column target_column src_col tgt_col trg_col",
}
WITHIN = {
    "": {
        "data.train.source": "source",
        "data.train.target": "target",
        "data.train.path": "path file",
    },
    "embeddings": {
        "model.embeddings.tie": "share shared sharing tied tying",
        "model.d_model": "size width",
    },
    "feed_forward": {
        "model.feed_forward.d_ff": "hidden_size hidden_dim dim size inner_size units width d_model"
    },
    "attention": {
        "model.attention.d_k": "hidden_size hidden_dim dim size units width d_model",
        "model.dropout.attention": "dropout",
    },
    "positions": {"model.positions.max_length": "max_len max_seq_len size block_size n_ctx"},
    "norm": {"model.norm.eps": "epsilon", "model.norm.placement": "position order"},
    "dropout": {
        "model.dropout.residual": "hidden resid",
        "model.dropout.attention": "attn",
        "model.dropout.activation": "ffn ff feed_forward",
    },
    "tokenizer": {"tokenizer.vocab_size": "size vocab merges", "tokenizer.kind": "model_type"},
    "optimizer": {"training.optimizer.eps": "epsilon"},
    "validate": {"training.validate.every": "steps every_steps freq frequency interval"},
    "checkpoint": {
        "training.checkpoint.every": "steps every_steps freq frequency interval",
        "training.checkpoint.keep": "last keep_last",
        "training.checkpoint.average": "averaging",
    },
    "generation": {"generation.max_length": "max_len"},
    "train": FILES,
    "valid": FILES,
    "test": FILES,
}
"""Names that mean something of its own in one section: under ours, by the section's last key."""
KIND = frozenset({"type", "name", "method", "strategy", "algorithm", "mode", "class"})
"""What others call the `kind` of a section."""
LOCAL = frozenset({"source", "target", "path", "columns", "ratio", "plus"})
"""Keys that are no reason to think of another section."""

SLIPS = 2
"""Letters wrong, missing, too many or swapped in a word that is still recognised."""
SIDES = frozenset({"encoder", "decoder", "source", "target", *SPLITS})


def nearest(word: str, choices: Iterable[str]) -> str:
    """The choice that `word` may have been meant to be; empty if none is near."""
    slips = {
        choice: min(_slips(word, choice), _slips(plain(word), plain(choice))) for choice in choices
    }
    best = min(slips, key=slips.__getitem__, default="")
    return best if best and slips[best] <= min(SLIPS, len(plain(best)) - 1) else ""


def advise(key: str, value: Node, keys: Iterable[str], path: KeyPath) -> str:
    """What to do about an unknown `key: value` of the section at `path`, which has `keys`."""
    keys = list(keys)
    near = "kind" if key in KIND and "kind" in keys else nearest(key, keys)
    if near == "kind" or (near and plain(near) == plain(key)):
        return f"did you mean `{near}`?"
    own = _within(key, path)
    if own:
        return own
    homes = _homes(key, path)
    if homes:
        return f"it belongs in {' or '.join(homes)}"
    translated = _translated(key, value, path)
    if translated:
        return translated
    if near:
        return f"did you mean `{near}`?"
    elsewhere = nearest(key, dict.fromkeys(path[-1] for path in _paths() if path[-1] != "kind"))
    homes = _homes(elsewhere, path) if _is_likely(key, elsewhere) else []
    if homes:
        return f"did you mean `{elsewhere}` in {' or '.join(homes)}?"
    return f"allowed: {', '.join(keys) or 'nothing'}"


def meant(key: str, keys: Collection[str]) -> str:
    """The one of a section's `keys` that an unknown `key` stands for; itself if there is none."""
    foreign = explain(key)
    if foreign and not foreign.ours:
        return key
    ours = foreign.ours.rpartition(".")[2] if foreign else ""
    return ours if ours in keys else nearest(key, keys) or key


def reason(key: str, section: str, kind: str) -> str:
    """Why `key`, or ours for it, does not exist there; empty where no reason is worth a word."""
    foreign = explain(key)
    ours = foreign.ours.rpartition(".")[2] if foreign else key
    return REASONS.get((kind, ours)) or REASONS.get((section, ours), "")


def _within(key: str, path: KeyPath) -> str:
    """What a key is called here that has a meaning of its own in the section at `path`."""
    section = next((part for part in reversed(path) if isinstance(part, str)), "")
    names = WITHIN.get(section, {}).items()
    ours = next((ours for ours, theirs in names if key in theirs.split()), "")
    return f"here it is called `{_on_this_side(ours, path)}`" if ours else ""


def _is_likely(word: str, choice: str) -> bool:
    """Whether a key of some other section is near enough to be what was meant."""
    return _slips(plain(word), plain(choice)) <= len(plain(word)) // 5


def _translated(key: str, value: Node, path: KeyPath) -> str:
    """What the key of another toolkit is called here, and what its value is."""
    foreign = explain(key)
    if foreign is None:
        return ""
    advice = [f"here it is called `{_on_this_side(foreign.ours, path)}`"] if foreign.ours else []
    written = value.text.lower() if isinstance(value, Scalar) else ""
    ours = foreign.values.get(written, "")
    advice += [f"write `{ours}`"] if ours else []
    return "; ".join([*advice, foreign.note] if foreign.note else advice)


def _on_this_side(ours: str, path: KeyPath) -> str:
    """Our key for one side, where the user writes about one side: `model.encoder.layers`."""
    section, *rest = ours.split(".")
    if len(path) < 2 or path[0] != section or path[1] not in SIDES:
        return ours
    side = (section, str(path[1]))
    known = set(_paths())
    narrow = [(*side, *rest[skipped:]) for skipped in (0, 1) if rest[skipped:]]
    return next((dotted(found) for found in narrow if found in known), ours)


@cache
def _paths() -> tuple[tuple[str, ...], ...]:
    """The path of every key of the language."""
    return tuple(tuple(map(str, path)) for path, _ in walk_schema(WrittenBlueprint))


@cache
def _places() -> dict[str, list[tuple[str, ...]]]:
    """The paths of every key of the language, by the plain form of the key."""
    places: dict[str, list[tuple[str, ...]]] = {}
    for path in _paths():
        if path[-1] != "kind":
            places.setdefault(plain(path[-1]), []).append(path)
    return places


def _homes(key: str, path: KeyPath) -> list[str]:
    """The sections that have `key`, those nearest to `path`."""

    def distance(place: tuple[str, ...]) -> tuple[int, int]:
        pairs = zip(place, path, strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        return -shared, len(place)

    alike = _places().get(plain(key), [])
    places = [place for place in alike if place[-1] == key] or alike
    if key in LOCAL:
        places = [place for place in places if place[:1] == path[:1]]
    best = min(map(distance, places), default=None)
    nearby = [dotted(place[:-1]) for place in places if distance(place) == best]
    return [f"`{home}`" if home else "the top level" for home in dict.fromkeys(nearby)]


def _slips(word: str, choice: str) -> int:
    """Letters to add, drop, change or swap to get from one to the other (Damerau, 1964).

    Two letters can be swapped and others added or dropped between them. Where the lengths alone
    rule out that one is the other, only those are counted.
    """
    lengths = len(word), len(choice)
    if abs(lengths[0] - lengths[1]) > SLIPS:
        return abs(lengths[0] - lengths[1])
    slips = {(i, 0): i for i in range(lengths[0] + 1)}
    slips |= {(0, j): j for j in range(lengths[1] + 1)}
    rows: dict[str, int] = {}
    for i, letter in enumerate(word, 1):
        column = 0
        for j, other in enumerate(choice, 1):
            costs = [slips[i - 1, j] + 1, slips[i, j - 1] + 1]
            costs.append(slips[i - 1, j - 1] + (letter != other))
            row = rows.get(other, 0)
            if row and column:
                between = (i - row - 1) + (j - column - 1)
                costs.append(slips[row - 1, column - 1] + between + 1)
            slips[i, j] = min(costs)
            column = j if letter == other else column
        rows[letter] = i
    return slips[lengths]
