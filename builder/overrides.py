"""Overrides of a stored blueprint: which sections a command may change, and why no others."""

from __future__ import annotations

from collections.abc import Sequence

from builder.blueprint.override import flag_name
from builder.errors import BlueprintError, Problem


def allow_only(overrides: Sequence[str], *sections: str, reason: str) -> None:
    """Refuse overrides of keys outside `sections`; `reason` says why the others stand fast.

    Raises:
        BlueprintError: With every such override.
    """
    keys = {override: override.partition("=")[0].strip() for override in overrides}
    allowed = " and ".join(f"`{section}.*`" for section in sections)
    problems = [
        Problem(f"{reason}; what can be set: {allowed}", path=key, file=flag_name(override))
        for override, key in keys.items()
        if key.partition(".")[0] not in sections
    ]
    if problems:
        raise BlueprintError(problems)
