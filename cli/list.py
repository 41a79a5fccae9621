"""`transom list`: the bundled blueprints."""

from __future__ import annotations

from cli.streams import write_results


def list_blueprints() -> None:
    """List the bundled blueprints: name, parameters, description."""
    from builder.blueprint.bundled import bundled_blueprints
    from builder.blueprint.load import load_blueprint
    from builder.blueprint.plan import make_plan

    loaded = {name: load_blueprint(name) for name in bundled_blueprints()}
    sizes = {name: str(make_plan(blueprint).parameters) for name, blueprint in loaded.items()}
    width, size = max(map(len, sizes)), max(map(len, sizes.values()))
    write_results(
        f"{name:{width}}  {sizes[name]:>{size}}  {blueprint.description}"
        for name, blueprint in loaded.items()
    )
