"""Conflicts within the name, the tokenizers and the data."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.checks.finding import Finding, at
from builder.blueprint.data import ParallelFiles, Table
from builder.blueprint.plan import vocabularies
from builder.blueprint.tokenizer import BPE
from builder.errors import printable

NAME_BYTES = 200
"""The longest name in UTF-8, so that `NAME.onnx` fits any file system."""

UNNAMEABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Categories of Unicode that hold control characters, halves of characters and line breaks."""


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
    elif any(unicodedata.category(letter) in UNNAMEABLE for letter in name):
        wrong = "it has no control characters and no line breaks"
    elif len(name.encode("utf-8", "surrogatepass")) > NAME_BYTES:
        wrong = f"it has at most {NAME_BYTES} bytes in UTF-8"
    if wrong:
        message = f"`{printable(name)}` cannot be the name of a file: {wrong}"
        yield Finding((at("name"),), message)


def shared_tokenizer_is_one(blueprint: Blueprint) -> Iterator[Finding]:
    """One tokenizer for both sides cannot be two."""
    tokenizer = blueprint.tokenizer
    if tokenizer is not None and tokenizer.shared and tokenizer.source != tokenizer.target:
        message = "a shared tokenizer is one, but source and target differ; write `shared: false`"
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
            f"source and {sizes.target:,} for target"
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
            columns = pairs.columns
            if isinstance(columns.source, str) != isinstance(columns.target, str):
                message = (
                    "one column is told by number (no header), the other by name (a header); "
                    "tell both the same way"
                )
                ends = (f"{path}.columns.source", f"{path}.columns.target")
                yield Finding(tuple(map(at, ends)), message)


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
    paths_are_paths,
)


def _sources(blueprint: Blueprint) -> Iterator[tuple[str, object]]:
    if blueprint.data is not None:
        yield "data.train", blueprint.data.train
        yield "data.valid", blueprint.data.valid
        yield "data.test", blueprint.data.test
