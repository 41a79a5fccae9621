"""`transom train`: a blueprint into a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import Overrides

if TYPE_CHECKING:
    from builder.blueprint.blueprint import Blueprint


def train(
    blueprint: Annotated[
        str | None,
        typer.Argument(
            metavar="BLUEPRINT",
            help="A blueprint file, or the name of a bundled one; with --resume, the run's own.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The run folder; runs/NAME unless given."),
    ] = None,
    overrides: Overrides = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in the folder.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the run in the folder.")
    ] = False,
) -> None:
    """Train a blueprint into a run folder. Ctrl-C saves a checkpoint that --resume goes on from."""
    if resume and overwrite:
        raise typer.BadParameter("--resume keeps the run and --overwrite replaces it: choose one")
    chosen = _choose(blueprint, out if resume else None, overrides or [])
    from builder.training.train import train as train_blueprint
    from cli.watch import StderrWatch

    with StderrWatch() as watch:
        train_blueprint(
            chosen,
            out or Path("runs") / chosen.name,
            resume=resume,
            overwrite=overwrite,
            watch=watch,
        )


def _choose(blueprint: str | None, run: Path | None, overrides: list[str]) -> Blueprint:
    """The blueprint that is named, or the one stored in `run`; it has what training needs."""
    from builder.blueprint.load import load_blueprint
    from builder.run import BLUEPRINT
    from builder.training.agreement import needed

    file = blueprint or (str(run / BLUEPRINT) if run else "")
    if not file:
        raise typer.BadParameter("name a BLUEPRINT, or --resume with the --out of a run")
    chosen = load_blueprint(file, overrides)
    needed(chosen, file=file)
    return chosen
