"""`transom build`: what a blueprint says, and what its model will cost."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import BlueprintArgument, Json, Overrides
from cli.streams import write_results

if TYPE_CHECKING:
    from builder.blueprint.plan import Plan

PAGE_WIDTH = 120
"""Columns where no terminal sets the width."""


def build(
    blueprint: BlueprintArgument,
    set_: Overrides = None,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="Print the blueprint with every default as YAML.")
    ] = False,
    json_: Json = False,
) -> None:
    """Validate and resolve a blueprint; print the plan of its model."""
    from builder.blueprint.load import load_blueprint
    from builder.blueprint.plan import make_plan
    from builder.blueprint.summary import describe_stack
    from builder.blueprint.write import dump_blueprint
    from builder.errors import printable

    loaded = load_blueprint(blueprint, set_ or ())
    plan = make_plan(loaded)
    if json_:
        plain = {**plan.as_dict(), "blueprint": loaded.model_dump(by_alias=True)}
        write_results([json.dumps(plain if resolved else plan.as_dict(), ensure_ascii=False)])
    elif resolved:
        write_results([dump_blueprint(loaded).rstrip("\n")])
    else:
        head = map(printable, [loaded.name, *loaded.description.splitlines()])
        stacks = [
            f"{side}: {describe_stack(stack)}"
            for side, stack in (
                ("encoder", loaded.model.encoder),
                ("decoder", loaded.model.decoder),
            )
        ]
        write_results([*head, "", *stacks, "", *_table(plan)])


def _table(plan: Plan) -> Iterator[str]:
    """The lines of the plan's table: each block with its size and its shapes."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("block", no_wrap=True)
    table.add_column("layers", justify="right")
    table.add_column("parameters", justify="right", no_wrap=True)
    table.add_column("shapes")
    for block in plan.blocks:
        size = f"= {block.tied_to}" if block.tied_to else str(block.parameters)
        shapes = ", ".join(
            f"{name}({'×'.join(map(str, shape))})" for name, shape in block.shapes.items()
        )
        table.add_row(block.name, str(block.copies) if block.copies > 1 else "", size, shapes)
    table.add_row("total", "", str(plan.parameters), "")
    console = Console(width=None if sys.stdout.isatty() else PAGE_WIDTH, highlight=False)
    with console.capture() as captured:
        console.print(table)
    yield from (line.rstrip() for line in captured.get().splitlines())
