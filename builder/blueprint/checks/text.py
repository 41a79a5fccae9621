"""Conflicts within the name, the tokenizers and the data."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.checks.finding import Finding, at
from builder.blueprint.data import SPLITS, BuiltIn, ParallelFiles, Table
from builder.blueprint.plan import vocabularies
from builder.blueprint.tokenizer import BPE, Recipe
from builder.errors import printable

NAME_BYTES = 200
"""The longest name in UTF-8, so that `NAME.onnx` fits any file system."""

UNNAMEABLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of Unicode: control and format characters, halves of characters, line breaks."""
JOINERS = "\u200c\u200d"
"""The format characters that spell words and emoji; no other is part of a name."""


def name_is_a_file_name(blueprint: Blueprint) -> Iterator[Finding]:
    """The name of the exported file: one that no system reads as a path or cannot store."""
    name = blueprint.name
    wrong = ""
    if "/" in name or "\\" in name:
        wrong = "it has no `/` and no `\\`"
    elif name.startswith("."):
        wrong = "it does not begin with a full stop"
    elif name != name.strip():
        wrong = "it does not begin or end with a space"
    elif any(unicodedata.category(c) in UNNAMEABLE and c not in JOINERS for c in name):
        wrong = "it has no control characters, no line breaks and nothing invisible"
    elif len(name.encode("utf-8", "surrogatepass")) > NAME_BYTES:
        wrong = f"it has at most {NAME_BYTES} bytes in UTF-8"
    if wrong:
        message = (
            f"`{printable(name)}` cannot be the name of a file: {wrong}; where none is written, "
            "it is the blueprint file's own; write one, such as `name: my-model`"
        )
        yield Finding((at("name"),), message)


def shared_tokenizer_is_one(blueprint: Blueprint) -> Iterator[Finding]:
    """One tokenizer for both sides cannot be two."""
    tokenizer = blueprint.tokenizer
    if tokenizer is not None and tokenizer.shared and tokenizer.source != tokenizer.target:
        message = (
            f"a shared tokenizer is one, but source ({_in_words(tokenizer.source)}) and target "
            f"({_in_words(tokenizer.target)}) differ; write both alike, or `shared: false`"
        )
        paths = ("shared", "source", "target")
        yield Finding(tuple(at(f"tokenizer.{path}") for path in paths), message)


def shared_vocabulary_is_one(blueprint: Blueprint) -> Iterator[Finding]:
    """One tokenizer for both sides has one size."""
    tokenizer, sizes = blueprint.tokenizer, blueprint.model.vocab_size
    if tokenizer is None or sizes is None or not tokenizer.shared:
        return
    if sizes.source != sizes.target:
        message = (
            f"the tokenizer is shared, so both sizes are one; found {sizes.source:,} for "
            f"source and {sizes.target:,} for target; write one number, or `shared: false` in "
            "the tokenizer"
        )
        paths = ("tokenizer.shared", "model.vocab_size.source", "model.vocab_size.target")
        yield Finding(tuple(map(at, paths)), message)


def vocabulary_is_the_tokenizers(blueprint: Blueprint) -> Iterator[Finding]:
    """The model has a row for each piece of a tokenizer whose size is known."""
    tokenizer = blueprint.tokenizer
    if tokenizer is None or blueprint.model.vocab_size is None:
        return
    rows = vocabularies(blueprint)
    for side, size, recipe in zip(
        ("source", "target"), rows, (tokenizer.source, tokenizer.target), strict=True
    ):
        if isinstance(recipe, BPE) and recipe.vocab_size != size:
            message = (
                f"the model has {size:,} rows, but the tokenizer {recipe.vocab_size:,}; write the "
                "same number, or leave model.vocab_size out"
            )
            paths = (f"model.vocab_size.{side}", f"tokenizer.{side}.vocab_size")
            yield Finding(tuple(map(at, paths)), message)


def columns_are_told_one_way(blueprint: Blueprint) -> Iterator[Finding]:
    """A table either has a header, and columns by name, or has none."""
    for path, pairs in _sources(blueprint):
        if isinstance(pairs, Table):
            ends = pairs.columns.source, pairs.columns.target
            if isinstance(ends[0], str) != isinstance(ends[1], str):
                named, numbered = ends if isinstance(ends[0], str) else ends[::-1]
                message = (
                    f"one column is told by number, {numbered} (no header), the other by name, "
                    f"`{printable(str(named))}` (a header); tell both the same way"
                )
                paths = (f"{path}.columns.source", f"{path}.columns.target")
                yield Finding(tuple(map(at, paths)), message)


def builtin_is_used(blueprint: Blueprint) -> Iterator[Finding]:
    """A built-in set stands for the splits that are not written, so one of them is not."""
    builtin = getattr(blueprint.data, "builtin", None)
    splits = [pairs for path, pairs in _sources(blueprint)]
    if builtin and not any(isinstance(pairs, BuiltIn) for pairs in splits):
        message = (
            f"`builtin: {builtin}` stands for the splits that are not written, but "
            f"{', '.join(SPLITS)} all are; drop it, or drop them"
        )
        paths = ("data.builtin", *(f"data.{split}" for split in SPLITS))
        yield Finding(tuple(map(at, paths)), message)


def paths_are_paths(blueprint: Blueprint) -> Iterator[Finding]:
    """No file system has a name with a null character."""
    for path, pairs in _sources(blueprint):
        named: dict[str, str] = {}
        if isinstance(pairs, Table):
            named = {"path": pairs.path}
        elif isinstance(pairs, ParallelFiles):
            named = {"source": pairs.source, "target": pairs.target}
        for key, value in named.items():
            if "\0" in value:
                yield Finding((at(f"{path}.{key}"),), "a path has no null character")


TEXT_CHECKS = (
    name_is_a_file_name,
    shared_tokenizer_is_one,
    shared_vocabulary_is_one,
    vocabulary_is_the_tokenizers,
    columns_are_told_one_way,
    builtin_is_used,
    paths_are_paths,
)


def _sources(blueprint: Blueprint) -> Iterator[tuple[str, object]]:
    if blueprint.data is not None:
        for split in SPLITS:
            yield f"data.{split}", getattr(blueprint.data, split)


def _in_words(recipe: Recipe) -> str:
    """A recipe by the keys that are not at their defaults."""
    values = recipe.model_dump(exclude_defaults=True)
    return ", ".join(
        [values.pop("kind"), *(f"{key}: {value}".lower() for key, value in values.items())]
    )
