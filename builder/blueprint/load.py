"""A file, or the name of a bundled blueprint, into a frozen, fully resolved `Blueprint`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.bundled import bundled_blueprints
from builder.blueprint.cascade import cascade, complete, expand, settled, without_blanks
from builder.blueprint.checks import check
from builder.blueprint.merge import merged
from builder.blueprint.model import with_widths
from builder.blueprint.nodes import (
    Broken,
    Mapping,
    Node,
    Scalar,
    Source,
    describe,
    is_blank,
    raw,
    walk,
)
from builder.blueprint.override import flag_name, read_overrides
from builder.blueprint.read import SIZE_LIMIT, read, split_lines
from builder.blueprint.suggest import nearest
from builder.blueprint.validate import PROBLEM_LIMIT, Validation
from builder.errors import BlueprintError, Problem


def load_blueprint(path: str | Path, overrides: Sequence[str] = ()) -> Blueprint:
    """Read, check and resolve a blueprint.

    `path` is a file, or the name of a bundled blueprint: a text without `/` and `.yaml`.
    `overrides` are texts such as `model.d_model=256`. Data paths of the result are absolute.

    Raises:
        BlueprintError: with every problem of the file and of the overrides.
    """
    shown = os.fspath(path)
    if is_file_name(shown):
        file, directory = Path(path), Path(path).absolute().parent
    else:
        file, directory, shown = _bundled(shown), Path.cwd(), f"{shown}.yaml"
    text = _read_file(file)
    return parse_blueprint(text, shown, overrides, directory=directory, name=file.stem)


def is_file_name(text: str) -> bool:
    """Whether a command's argument is a path, and no bundled blueprint's name."""
    return "/" in text or os.sep in text or text.endswith((".yaml", ".yml"))


def parse_blueprint(
    text: str,
    file: str,
    overrides: Sequence[str] = (),
    *,
    directory: Path | None = None,
    name: str | None = None,
) -> Blueprint:
    """Check and resolve the text of a blueprint.

    `file` stands in messages; relative data paths start from `directory`, or else from the
    working directory; `name` is the blueprint's where the text gives none.

    Raises:
        BlueprintError: with every problem of the text and of the overrides.
    """
    tree, problems = _read_tree(text, Source(file, split_lines(text), directory))
    flags, more = read_overrides(overrides)
    problems += more
    tree = expand(tree)
    if flags:
        tree = merged(tree, reduce(merged, map(expand, flags)))
    blanks = {node.place.path: node.place for _, node in walk(tree) if is_blank(node)}
    tree = without_blanks(tree)
    if name is not None and "name" not in tree.entries:
        tree = replace(tree, entries={**tree.entries, "name": Scalar(tree.place, name, name)})
    tree = _with_absolute_paths(complete(cascade(tree)))
    broken = {path for path, node in walk(tree) if isinstance(node, Broken)}
    validation = Validation(tree, blanks, tainted=broken)
    written = validation.run()
    problems += [*validation.problems, *check(written, tree, validation.is_tainted)]
    if problems:
        raise BlueprintError(_in_order(problems, overrides))
    blueprint = Blueprint.model_validate(raw(settled(validation.tree)))
    return blueprint.model_copy(update={"model": with_widths(blueprint.model)})


def _read_tree(text: str, source: Source) -> tuple[Mapping, list[Problem]]:
    document, problems = read(text.removeprefix("\ufeff"), source)
    if document is None or is_blank(document):
        raise BlueprintError([Problem("empty blueprint", file=source.name)])
    if not isinstance(document, Mapping):
        message = f"found {describe(document)}; a blueprint has sections, such as `model:`"
        raise BlueprintError([*problems, document.place.problem(message)])
    return document, problems


def _with_absolute_paths(tree: Mapping) -> Mapping:
    """Resolve data paths against the file that wrote them."""
    data = tree.entries.get("data")
    if not isinstance(data, Mapping):
        return tree
    entries = dict(data.entries)
    for split in ("train", "valid", "test"):
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


def _in_order(problems: list[Problem], overrides: Sequence[str]) -> list[Problem]:
    """Each problem once, in the order of the file, then of the command line."""
    flags = [flag_name(override) for override in overrides]

    def order(problem: Problem) -> tuple[int, int, int]:
        flag = flags.index(problem.file) + 1 if problem.file in flags else 0
        return flag, problem.line, problem.column

    ordered = sorted(dict.fromkeys(problems), key=order)
    if len(ordered) > PROBLEM_LIMIT:
        last = Problem("and more problems than these", file=ordered[0].file)
        return [*ordered[:PROBLEM_LIMIT], last]
    return ordered


def _bundled(name: str) -> Path:
    known = bundled_blueprints()
    if name in known:
        return known[name]
    near = nearest(name, known)
    hint = f"did you mean `{near}`? " if near else ""
    message = (
        f"no bundled blueprint has this name; {hint}bundled: {', '.join(known)}; "
        "a path has a `/` or ends in `.yaml`"
    )
    raise BlueprintError([Problem(message, file=name)])


def _read_file(file: Path) -> str:
    """The text of a file, or a plain reason with its absolute path."""
    longest = 4 * SIZE_LIMIT
    try:
        with file.open("rb") as stream:
            content = stream.read(longest + 1)
        if len(content) <= longest:
            return content.decode()
        reason = f"more than {longest:,} bytes"
    except IsADirectoryError:
        reason = "this is a folder, not a blueprint"
    except UnicodeDecodeError as error:
        reason = f"not UTF-8: byte {error.start} of the file is 0x{error.object[error.start]:02x}"
    except OSError as error:
        reason = str(error.strerror).lower()
    except ValueError as error:
        reason = str(error)
    raise BlueprintError([Problem(reason, file=str(file.absolute()))])
