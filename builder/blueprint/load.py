"""A file, or the name of a bundled blueprint, into a frozen, fully resolved `Blueprint`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.cascade import cascade, complete, expand, settled, without_blanks
from builder.blueprint.checks import check
from builder.blueprint.data import SPLITS
from builder.blueprint.document import Document
from builder.blueprint.inheritance import merge_layers, read_layers
from builder.blueprint.model import with_defaults
from builder.blueprint.nodes import (
    Broken,
    Mapping,
    Node,
    Scalar,
    Source,
    is_blank,
    raw,
    walk,
    without_indices,
)
from builder.blueprint.override import flag_name, read_overrides
from builder.blueprint.reach import unreached
from builder.blueprint.read import split_lines
from builder.blueprint.spelling import guesses, read_as_meant
from builder.blueprint.validate import PROBLEM_LIMIT, Validation
from builder.errors import BlueprintError, Problem


def load_blueprint(path: str | Path, overrides: Sequence[str] = ()) -> Blueprint:
    """Read, check and resolve a blueprint.

    `path` is a file, or the name of a bundled blueprint: a text without `/` and `.yaml`.
    `overrides` are texts such as `model.d_model=256`. Data paths of the result are absolute.

    Raises:
        BlueprintError: with every problem of the file, of its bases and of the overrides.
    """
    document = Document.find(os.fspath(path), Path.cwd())
    text = document.text()
    source = Source(document.shown, split_lines(text), document.directory)
    return _resolve(text, source, overrides, file=document.file, name=document.file.stem)


def parse_blueprint(
    text: str,
    file: str,
    overrides: Sequence[str] = (),
    *,
    directory: Path | None = None,
    name: str | None = None,
) -> Blueprint:
    """Check and resolve the text of a blueprint.

    `file` stands in messages; relative paths start from `directory`, or else from the working
    directory; `name` is the blueprint's where the text gives none.

    Raises:
        BlueprintError: with every problem of the text, of its bases and of the overrides.
    """
    return _resolve(text, Source(file, split_lines(text), directory), overrides, name=name)


def _resolve(
    text: str,
    source: Source,
    overrides: Sequence[str],
    *,
    name: str | None,
    file: Path | None = None,
) -> Blueprint:
    layers, problems = read_layers(text, source, file)
    flags, more = read_overrides(overrides)
    problems += more
    on_top = [merge_layers([*map(expand, reversed(flags))])] if flags else []
    tree = merge_layers([*on_top, *layers])
    blanks = {node.place.path: node.place for _, node in walk(tree) if is_blank(node)}
    tree, guessed = read_as_meant(without_blanks(tree))
    if name is not None and "name" not in tree.entries:
        place = replace(tree.place, path=("name",))  # its text is empty: nobody wrote it
        tree = replace(tree, entries={**tree.entries, "name": Scalar(place, name, "")})
    tree = _with_absolute_paths(complete(cascade(tree)))
    broken = {path for path, node in walk(tree) if isinstance(node, Broken)}
    tainted = set(map(without_indices, broken | guesses(tree, guessed)))
    validation = Validation(tree, blanks, tainted=tainted)
    written = validation.run()
    problems += [*validation.problems, *check(written, tree, validation.is_tainted)]
    problems += unreached(tree, validation.is_tainted)
    if problems:
        names = [layer.place.source.name for layer in layers] + [*map(flag_name, overrides)]
        raise BlueprintError(_in_order(problems, names))
    blueprint = Blueprint.model_validate(raw(settled(validation.tree)))
    return blueprint.model_copy(update={"model": with_defaults(blueprint.model)})


def _with_absolute_paths(tree: Mapping) -> Mapping:
    """Resolve data paths against the file that wrote them."""
    data = tree.entries.get("data")
    if not isinstance(data, Mapping):
        return tree
    entries = dict(data.entries)
    for split in SPLITS:
        pairs = entries.get(split)
        if isinstance(pairs, Mapping):
            files = {
                key: _absolute(node) if key in ("source", "target", "path") else node
                for key, node in pairs.entries.items()
            }
            entries[split] = replace(pairs, entries=files)
    return replace(tree, entries={**tree.entries, "data": replace(data, entries=entries)})


def _absolute(node: Node) -> Node:
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or not node.value:
        return node
    directory = node.place.source.directory or Path.cwd()
    return replace(node, value=os.path.normpath(directory.absolute() / node.value))


def _in_order(problems: list[Problem], names: Sequence[str]) -> list[Problem]:
    """Each problem once, in the order of the file, then of its bases, then of the flags."""
    ranks = {name: rank for rank, name in reversed([*enumerate(names)])}

    def order(problem: Problem) -> tuple[int, int, int]:
        return ranks.get(problem.file, 0), problem.line, problem.column

    ordered = sorted(dict.fromkeys(problems), key=order)
    if len(ordered) > PROBLEM_LIMIT:
        last = Problem("and more problems than these", file=ordered[0].file)
        return [*ordered[:PROBLEM_LIMIT], last]
    return ordered
