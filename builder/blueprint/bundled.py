"""The blueprints that come with Transom."""

from __future__ import annotations

from pathlib import Path


def bundled_blueprints() -> dict[str, Path]:
    """Every bundled blueprint by its name, in a checkout and in an installed package."""
    here = Path(__file__).resolve().parent
    installed = here / "bundled"
    folder = installed if installed.is_dir() else here.parents[1] / "blueprints"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}
