"""`transom list`: the bundled blueprints."""

from __future__ import annotations

from cli.streams import write_results


def list_blueprints() -> None:
    """List the bundled blueprints by name."""
    from builder.blueprint.bundled import bundled_blueprints

    write_results(bundled_blueprints())
