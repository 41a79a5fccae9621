"""`transom schema`: the language of blueprints, for editors."""

from __future__ import annotations

from cli.streams import write_results


def schema() -> None:
    """Print the JSON Schema of blueprints, with which an editor completes and checks them.

    In a file's first line: `# yaml-language-server: $schema=PATH`.
    """
    from builder.blueprint.schema import schema_text

    write_results([schema_text()])
