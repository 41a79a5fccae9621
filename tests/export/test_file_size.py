"""The exported file is as large as the plan says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builder.blueprint.plan import make_plan
from builder.export.export import export_run
from builder.run import Run

MakeRun = Callable[..., Path]

GRAPH_BYTES = 200_000
"""What nodes, tokenizer and proof may take beside the weights."""


@pytest.mark.slow
def test_the_file_holds_its_weights_once(make_run: MakeRun) -> None:
    wide: dict[str, Any] = {"feed_forward": {"d_ff": 8192}}
    folder = make_run({"encoder": wide, "decoder": wide, "embeddings": {"tie": "all"}})

    size = make_plan(Run.open(folder).blueprint).file["float32"].fixed
    assert size > 20 * GRAPH_BYTES
    assert abs(export_run(folder).size_bytes - size) <= 0.02 * size + GRAPH_BYTES
