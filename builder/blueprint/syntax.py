"""Text that is no YAML, or not the YAML that was meant, told with the usual cause."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

import yaml

from builder.blueprint.nodes import Node, Place, Scalar, Source
from builder.errors import Problem

RUN_TOGETHER = re.compile(r"([A-Za-z_]\w*):(?!//)(\S.*)")
"""A key whose value follows the colon without a space: all of it is one text to YAML."""
NO_SPACE = "a space is missing after the colon"


def syntax_problem(error: yaml.MarkedYAMLError, source: Source) -> Problem:
    """The parser's complaint, with the usual cause named."""
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return Problem(f"this is not YAML: {error.problem}", file=source.name)
    line, column = mark.line + 1, mark.column + 1
    text = source.lines[mark.line] if mark.line < len(source.lines) else ""
    complaint = str(error.problem or error.context)
    indent = re.match(r" *\t", text)
    together = _run_together(source, line)
    if indent:
        column = indent.end()
        message = "a tab in the indentation; YAML indents with spaces only"
    elif "document" in complaint and not together:
        message = "a second document begins here; a blueprint is one document"
    elif together:
        return together.problem(NO_SPACE)
    elif "mapping values" in complaint and re.match(
        r" *[\w.-]+: +[^\s\"'{\[].*: ", text[:column] + " "
    ):
        message = "a text with a colon and a space in it needs quotes around the whole of it"
    elif re.search("mapping values|expected key|block end|could not find", complaint):
        message = (
            "this line does not fit its neighbours: its indentation differs from theirs, or a "
            f"bracket, a quote or a colon is missing or too many ({complaint})"
        )
    else:
        message = f"this is not YAML: {complaint}"
    return Place(source, line, column).problem(message)


def swallowed(node: Node, keys: Collection[str]) -> Place | None:
    """Where one of a section's `keys` is run together with its value, so that both are a text.

    None where `node`, which stands for the section, is no such text.
    """
    found = RUN_TOGETHER.match(str(node.value)) if isinstance(node, Scalar) else None
    if found is None or found[1] not in keys:
        return None
    place = replace(node.place, path=(*node.place.path, found[1]))
    for line, text in enumerate(place.source.lines[place.line - 1 :], place.line):
        column = text.find(f"{found[1]}:{found[2][0]}") + 1
        if column:
            return replace(place, line=line, column=column)
    return place


def _run_together(source: Source, line: int) -> Place | None:
    """The key without a space after its colon that the parser stumbled over at `line`."""
    for number in range(min(line, len(source.lines)), 0, -1):
        text = source.lines[number - 1]
        indent = len(text) - len(text.lstrip(" "))
        if RUN_TOGETHER.match(text, indent):
            return Place(source, number, indent + 1)
        if number < line and text.strip() and text[indent] != "#":
            return None
    return None
