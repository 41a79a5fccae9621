"""`transom build`: what a blueprint says, and what its model will cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import BlueprintArgument, Json, Overrides
from cli.streams import write_results

if TYPE_CHECKING:
    from builder.blueprint.plan.duration import Pace


def build(
    blueprint: BlueprintArgument,
    set_: Overrides = None,
    like: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help="Estimate the time of training from the log of a run folder."
        ),
    ] = None,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="Print the blueprint with every default as YAML.")
    ] = False,
    json_: Json = False,
) -> None:
    """Validate and resolve a blueprint; print the plan of its model."""
    from builder.blueprint.load import load_blueprint
    from builder.blueprint.plan import make_plan
    from builder.blueprint.plan.text import describe
    from builder.blueprint.write import dump_blueprint

    loaded = load_blueprint(blueprint, set_ or ())
    plan = make_plan(loaded, pace=None if like is None else _pace(like))
    if json_:
        plain = {**plan.as_dict(), "blueprint": loaded.model_dump(by_alias=True)}
        write_results([json.dumps(plain if resolved else plan.as_dict(), ensure_ascii=False)])
    elif resolved:
        write_results([dump_blueprint(loaded).rstrip("\n")])
    else:
        write_results(describe(loaded, plan))


def _pace(like: Path) -> Pace:
    """How fast the run in the folder `like` trained."""
    from builder.blueprint.plan.duration import Pace
    from builder.run import LOG, Run

    return Pace.of(Run.open(like).blueprint, like / LOG)
