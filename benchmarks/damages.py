"""Valid blueprints into damaged ones: one mistake in each, of a kind that people make."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import yaml

from builder.blueprint.blueprint import WrittenBlueprint
from builder.blueprint.fields import walk_schema

FOREIGN = {
    "layers": ("num_layers", "n_layers", "num_hidden_layers", "depth"),
    "d_model": ("hidden_size", "emb_dim", "n_embd", "embed_dim", "hidden_dim", "embedding_dim"),
    "heads": ("n_heads", "num_heads", "nhead", "num_attention_heads", "attention_heads"),
    "d_ff": ("ff_size", "ffn_dim", "intermediate_size", "dim_feedforward", "d_inner"),
    "d_k": ("head_dim", "d_head"),
    "tie": ("share_embeddings", "tied_embeddings", "tie_weights"),
    "placement": ("norm_first", "pre_norm", "normalize_before"),
    "max_length": ("max_len", "max_seq_len", "max_position_embeddings", "block_size"),
    "valid": ("dev", "validation"),
    "batch_tokens": ("batch_size", "max_tokens"),
    "steps": ("max_steps", "train_steps", "num_steps", "total_steps"),
    "warmup": ("warmup_steps", "warmup_updates", "num_warmup_steps"),
    "learning_rate": ("lr", "base_lr", "peak_lr"),
    "clip": ("grad_clip", "max_grad_norm", "clip_norm"),
    "patience": ("early_stopping_patience", "early_stopping"),
    "seed": ("random_seed", "manual_seed"),
    "optimizer": ("optim",),
    "schedule": ("scheduler", "lr_scheduler"),
    "label_smoothing": ("smoothing", "label_smoothing_factor"),
}
"""What other toolkits call our keys."""

PATHS = {tuple(map(str, path)) for path, _ in walk_schema(WrittenBlueprint)}
KEYS = {path[-1] for path in PATHS}
NUMBER = re.compile(r"-?[0-9.]+(e-?[0-9]+)?")


@dataclass(frozen=True)
class Entry:
    """A key with its value in the text of a blueprint."""

    path: tuple[str, ...]
    key: yaml.ScalarNode
    value: yaml.Node
    parent: yaml.MappingNode
    place: int
    """Its number among the keys of its section."""

    @property
    def in_block(self) -> bool:
        """Whether the key has a line of its own."""
        return not self.parent.flow_style

    @property
    def scalar(self) -> str:
        """The plain value; empty for sections, lists, blank values and quoted text."""
        plain = isinstance(self.value, yaml.ScalarNode) and self.value.style is None
        return "" if not plain or self.value.value in ("null", "") else self.value.value


@dataclass(frozen=True)
class Damaged:
    """A text with one mistake in it."""

    text: str
    at: int
    """The place of the mistake, as an index of the text."""
    meant: str = ""
    """The key that stood there."""

    @property
    def line(self) -> int:
        """The line that a message should name."""
        return self.text.count("\n", 0, self.at) + 1


Damage = Callable[[random.Random, str, list[Entry]], Damaged]


def entries(text: str) -> list[Entry]:
    """Every key of a blueprint, top down."""

    def below(section: yaml.MappingNode, path: tuple[str, ...]) -> Iterator[Entry]:
        for place, (key, value) in enumerate(section.value):
            yield Entry((*path, key.value), key, value, section, place)
            if isinstance(value, yaml.MappingNode):
                yield from below(value, (*path, key.value))

    return list(below(yaml.compose(text, Loader=yaml.BaseLoader), ()))


def replaced(text: str, node: yaml.Node, new: str) -> str:
    return text[: node.start_mark.index] + new + text[node.end_mark.index :]


def line_start(text: str, node: yaml.Node) -> int:
    return text.rfind("\n", 0, node.start_mark.index) + 1


def misspell(draw: random.Random, word: str, edits: int) -> str:
    """The word after one or two edits, none of which undoes another."""
    letters = list(word)
    for _ in range(edits):
        place = draw.randrange(len(letters))
        match draw.choice(["drop", "double", "swap", "replace", "insert"]):
            case "drop" if len(letters) > 2:
                del letters[place]
            case "double":
                letters.insert(place, letters[place])
            case "swap" if place:
                letters[place - 1 : place + 1] = reversed(letters[place - 1 : place + 1])
            case "replace":
                letters[place] = draw.choice(string.ascii_lowercase)
            case _:
                letters.insert(place, draw.choice(string.ascii_lowercase))
    return "".join(letters)


def typo(draw: random.Random, text: str, found: list[Entry], edits: int) -> Damaged:
    entry = draw.choice([entry for entry in found if len(entry.key.value) > 2])
    key = entry.key.value
    while (wrong := misspell(draw, key, edits)) in KEYS or not re.fullmatch("[a-z]\\w+", wrong):
        pass
    return Damaged(replaced(text, entry.key, wrong), entry.key.start_mark.index, key)


def word_typo(draw: random.Random, text: str, found: list[Entry]) -> Damaged:
    words = [e for e in found if re.fullmatch("[a-z_]{3,}", e.scalar) and is_word(e)]
    entry = draw.choice(words)
    wrong = misspell(draw, entry.scalar, 1)
    while wrong == entry.scalar:
        wrong = misspell(draw, entry.scalar, 1)
    return Damaged(replaced(text, entry.value, wrong), entry.key.start_mark.index)


def is_word(entry: Entry) -> bool:
    """Whether the value is one of a few words; false where any text will do."""
    return entry.scalar not in ("true", "false") and entry.path[0] in ("model", "tokenizer")


def wrong_type(draw: random.Random, text: str, found: list[Entry]) -> Damaged:
    entry = draw.choice([entry for entry in found if entry.scalar])
    wrong = ["[1, 2]", "{a: b}"]
    if entry.scalar in ("true", "false"):
        wrong += ["maybe", "1", "yes"]
    else:
        wrong += ["true"]
    if NUMBER.fullmatch(entry.scalar) and "columns" not in entry.path:
        wrong += ["lots", '"6"']
    return Damaged(replaced(text, entry.value, draw.choice(wrong)), entry.key.start_mark.index)


def out_of_range(draw: random.Random, text: str, found: list[Entry]) -> Damaged:
    entry = draw.choice([entry for entry in found if NUMBER.fullmatch(entry.scalar)])
    wrong = draw.choice(["-1", "1e13", ".nan", ".inf"])
    return Damaged(replaced(text, entry.value, wrong), entry.key.start_mark.index)


def wrong_place(draw: random.Random, text: str, found: list[Entry]) -> Damaged:
    """A key with its value, written once more in a section that has no such key."""
    moved = draw.choice([entry for entry in found if entry.scalar and entry.key.value != "kind"])
    key = moved.key.value
    homes = [e for e in found if not e.place and (*e.path[:-1], key) not in PATHS]
    home = draw.choice(homes)
    at = home.key.start_mark.index
    gap = ", " if not home.in_block else "\n" + " " * home.key.start_mark.column
    return Damaged(f"{text[:at]}{key}: {moved.scalar}{gap}{text[at:]}", at)


def duplicate(draw: random.Random, text: str, found: list[Entry]) -> Damaged:
    """A key that comes twice; the message belongs to the second."""
    entry = draw.choice([entry for entry in found if entry.scalar])
    again = f"{entry.key.value}: {entry.scalar}"
    at = entry.key.start_mark.index
    if entry.in_block:
        gap = "\n" + " " * entry.key.start_mark.column
        return Damaged(f"{text[:at]}{again}{gap}{text[at:]}", at + len(again) + len(gap))
    return Damaged(f"{text[:at]}{again}, {text[at:]}", at)


def bad_indent(draw: random.Random, text: str, found: list[Entry]) -> Damaged:
    """One key a space further left or right than its siblings before it."""
    entry = draw.choice([entry for entry in found if entry.in_block and entry.place])
    start = line_start(text, entry.key)
    if entry.key.start_mark.column and draw.random() < 0.5:
        return Damaged(text[:start] + text[start + 1 :], start)
    return Damaged(f"{text[:start]} {text[start:]}", start)


def tab(draw: random.Random, text: str, found: list[Entry]) -> Damaged:
    entry = draw.choice([e for e in found if e.in_block and e.key.start_mark.column])
    start = line_start(text, entry.key)
    return Damaged(f"{text[:start]}\t{text[entry.key.start_mark.index :]}", start)


def no_space(draw: random.Random, text: str, found: list[Entry]) -> Damaged:
    """A colon that nothing follows."""
    entry = draw.choice([entry for entry in found if entry.scalar])
    colon = text.index(":", entry.key.end_mark.index) + 1
    return Damaged(text[:colon] + text[colon:].lstrip(" "), entry.key.start_mark.index)


def foreign_name(draw: random.Random, text: str, found: list[Entry]) -> Damaged:
    entry = draw.choice([entry for entry in found if entry.key.value in FOREIGN])
    name = draw.choice(FOREIGN[entry.key.value])
    return Damaged(replaced(text, entry.key, name), entry.key.start_mark.index, entry.key.value)


DAMAGES: dict[str, Damage] = {
    "typo of one edit": lambda *given: typo(*given, edits=1),
    "typo of two edits": lambda *given: typo(*given, edits=2),
    "typo in a word": word_typo,
    "wrong type": wrong_type,
    "out of range": out_of_range,
    "wrong place": wrong_place,
    "duplicate key": duplicate,
    "bad indentation": bad_indent,
    "tab": tab,
    "no space after a colon": no_space,
    "foreign name": foreign_name,
}
