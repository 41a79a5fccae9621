"""`transom check`: is a blueprint right?"""

from __future__ import annotations

from cli.options import BlueprintArgument, Overrides
from cli.streams import write_results


def check(blueprint: BlueprintArgument, set_: Overrides = None) -> None:
    """Validate a blueprint; print every problem with its line."""
    from builder.blueprint.load import load_blueprint
    from builder.blueprint.summary import summarise
    from builder.errors import printable

    loaded = load_blueprint(blueprint, set_ or ())
    write_results([f"{printable(blueprint)}: valid: {summarise(loaded)}"])
