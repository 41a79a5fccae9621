from __future__ import annotations

import os
from pathlib import Path

import pytest

from builder.training.threads import physical_cores


def test_two_threads_of_a_core_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3, 5}, raising=False)
    for processor, core in enumerate(["0", "0", "1", "0", "9", "1"]):
        folder = tmp_path / f"cpu{processor}" / "topology"
        folder.mkdir(parents=True)
        (folder / "core_id").write_text(f"{core}\n")
        (folder / "physical_package_id").write_text(f"{processor // 3}\n")

    assert physical_cores(tmp_path) == 4


def test_without_a_topology_every_processor_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)

    assert physical_cores(tmp_path) == 3
