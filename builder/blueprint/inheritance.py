"""A blueprint and what it extends, file upon file, into one tree."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from builder.blueprint.blueprint import WrittenBlueprint
from builder.blueprint.document import Document, read_tree
from builder.blueprint.merge import merged
from builder.blueprint.nodes import Mapping, Scalar, Source
from builder.blueprint.read import split_lines
from builder.errors import BlueprintError, Problem, printable

OWN = ("transom", "name", "description")
"""What a file says of itself alone."""


def read_layers(
    text: str, source: Source, file: Path | None
) -> tuple[list[Mapping], list[Problem]]:
    """The tree of `text`, that of its base, and so on, without the keys that link them.

    `file` is where the text stands, if it does in one. The problems found are those of all layers.

    Raises:
        BlueprintError: A layer is missing or cannot be read, or the files extend each other.
    """
    layer, problems = read_tree(text, source)
    layers, sources, files = [layer], [source], [os.path.realpath(file) if file else ""]
    while link := _link(layers[-1]):
        try:
            base, text = _open(link)
            sources.append(Source(base.shown, split_lines(text), base.directory, len(layers)))
            _refuse_circle(link, os.path.realpath(base.file) in files, sources)
            layer, found = read_tree(text, sources[-1])
        except BlueprintError as error:
            raise BlueprintError([*problems, *error.problems]) from None
        problems += found
        files.append(os.path.realpath(base.file))
        layers[-1] = _without(layers[-1], ("extends",))
        layers.append(_without(layer, OWN))
    return layers, problems


def merge_layers(layers: Sequence[Mapping]) -> Mapping:
    """One tree of all layers, the first of which wins."""
    *upper, whole = layers
    for layer in reversed(upper):
        whole = merged(whole, layer, WrittenBlueprint)
    return whole


def _link(layer: Mapping) -> Scalar | None:
    """The name of the base; what is no name is left for validation to refuse."""
    node = layer.entries.get("extends")
    named = isinstance(node, Scalar) and isinstance(node.value, str) and node.value
    return node if isinstance(node, Scalar) and named else None


def _open(link: Scalar) -> tuple[Document, str]:
    """The base and its text; where there is none, the reason stands at the link."""
    source = link.place.source
    try:
        base = Document.find(str(link.value), source.directory or Path.cwd(), source.name)
        return base, base.text()
    except BlueprintError as error:
        reasons = [f"{printable(problem.file)}: {problem.message}" for problem in error.problems]
    raise BlueprintError([link.place.problem(reason) for reason in reasons])


def _refuse_circle(link: Scalar, closed: bool, sources: Sequence[Source]) -> None:
    if closed:
        chain = " → ".join(printable(source.name) for source in sources)
        raise BlueprintError([link.place.problem(f"files extend each other in a circle: {chain}")])


def _without(layer: Mapping, keys: Sequence[str]) -> Mapping:
    return replace(layer, entries={k: v for k, v in layer.entries.items() if k not in keys})
