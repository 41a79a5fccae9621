"""How many threads pay off on this machine."""

from __future__ import annotations

import os
from pathlib import Path

TOPOLOGY = Path("/sys/devices/system/cpu")


def physical_cores(topology: Path = TOPOLOGY) -> int:
    """Count the cores this process may use, two threads of one core once.

    Where the system does not tell, every processor counts as a core.
    """
    processors = sorted(_allowed())
    try:
        return len({_core(topology / f"cpu{number}" / "topology") for number in processors})
    except OSError:
        return len(processors)


def _allowed() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _core(folder: Path) -> tuple[str, str]:
    package = (folder / "physical_package_id").read_text()
    return package, (folder / "core_id").read_text()
