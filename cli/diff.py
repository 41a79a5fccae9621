"""`transom diff`: what differs between two blueprints in meaning."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.options import Json
from cli.streams import write_results

if TYPE_CHECKING:
    from builder.blueprint.blueprint import Blueprint
    from builder.blueprint.compare import Comparison
    from builder.blueprint.plan.blocks import Block
    from builder.blueprint.plan.drawing import Drawing

Side = Annotated[
    str,
    typer.Argument(
        help="A blueprint file, the name of a bundled one, or a run folder.", show_default=False
    ),
]


def diff(left: Side, right: Side, as_json: Json = False) -> None:
    """Compare two blueprints in meaning: their choices, parameters and masks."""
    from builder.blueprint.compare import compare

    found = compare(_load(left), _load(right))
    shown = [json.dumps(found.as_dict(), ensure_ascii=False)] if as_json else _report(found)
    write_results(shown)


def _load(argument: str) -> Blueprint:
    from builder.blueprint.document import is_file_name
    from builder.blueprint.load import load_blueprint
    from builder.run import Run

    folder = Path(argument)
    is_run = is_file_name(argument) and folder.is_dir()
    return Run.open(folder).blueprint if is_run else load_blueprint(argument)


def _report(found: Comparison) -> Iterator[str]:
    from builder.errors import printable

    for choice in found.choices:
        yield printable(f"{choice.key}: {_value(choice.left)} → {_value(choice.right)}")
    left, right = found.parameters
    more = "" if found.more is None else f" ({found.more:+,})"
    if found.sizes:
        yield f"parameters: {left} → {right}{more}"
    for size in found.sizes:
        yield f"  {size.block}: {_size(size.left)} → {_size(size.right)}"
    for mask in found.masks:
        before, after = (_masks(side) for side in (mask.left, mask.right))
        yield f"mask of the {mask.stack}: {before} → {after}"
        pictures = [drawing.rows for drawing in (*mask.left, *mask.right)]
        yield from ("  " + "  ".join(rows) for rows in zip(*pictures, strict=True))
    if not (found.choices or found.sizes):
        yield "no difference in meaning"


def _value(value: Any) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _masks(drawings: Sequence[Drawing]) -> str:
    """Each mask in words; where there are several, with its layers."""
    if len(drawings) == 1:
        return drawings[0].mask
    return "; ".join(f"{drawing.mask} ({', '.join(drawing.stacks)})" for drawing in drawings)


def _size(block: Block | None) -> str:
    if block is None:
        return "none"
    return f"= {block.tied_to}" if block.tied_to else str(block.parameters)
