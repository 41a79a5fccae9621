"""`transom schema`: the language of blueprints, for editors and for people."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.streams import write_results


def schema(
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the page of reference instead.")
    ] = False,
) -> None:
    """Print the JSON Schema of blueprints, with which an editor completes and checks them.

    In a file's first line: `# yaml-language-server: $schema=PATH`.
    """
    if markdown:
        from builder.blueprint.reference import reference_text

        write_results([reference_text()])
    else:
        from builder.blueprint.schema import schema_text

        write_results([schema_text()])
