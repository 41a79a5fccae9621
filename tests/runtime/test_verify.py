"""A file repeats its own proof."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builder.errors import PackageError, ProofFailure
from builder.runtime.verify import verify

WritePackage = Callable[..., Path]
Change = Callable[[Path, Callable[[Any], object]], None]

SAMPLES: list[dict[str, Any]] = [
    {
        "source_ids": [4, 5, 2],
        "options": {"n_best": 4},
        "prefix": None,
        "target_ids": [[4, 5, 2], [4, 5], [4]],
        "scores": [-3063.0, -3062.0, -3061.0],
    },
    {
        "source_ids": [4, 5, 6, 2],
        "options": {"max_length": 2, "beams": 1},
        "prefix": [-1, 7, -1],
        "target_ids": [[4, 7]],
        "scores": [-62.0],
    },
]


def proof_of(samples: object, **told: object) -> dict[str, str]:
    return {"transom.proof": json.dumps({"lines": 9, "equal": 9, **told, "samples": samples})}


def test_every_sample_comes_out_as_at_export(write_choir: WritePackage) -> None:
    result = verify(write_choir(proof_of(SAMPLES, near_ties=0)))

    assert (result.samples, result.differences) == (2, [])
    assert result.scores_difference < 1e-6
    assert result.export == {"lines": 9, "equal": 9, "near_ties": 0}


@pytest.mark.parametrize(
    ("number", "change", "told"),
    [
        (0, {"target_ids": [[4, 5, 2], [4, 6], [4]]}, "sample 1, output 2: "),
        (0, {"target_ids": [[4, 5, 2]], "scores": [-3063.0]}, "sample 1: 3 outputs"),
        (1, {"scores": [-62.1]}, "sample 2, output 1: score"),
        (1, {"source_ids": [5, 5, 6, 2]}, "sample 2, output 1: "),
    ],
)
def test_what_differs_is_told(
    write_choir: WritePackage, number: int, change: dict[str, object], told: str
) -> None:
    samples = [dict(sample) for sample in SAMPLES]
    samples[number] |= change

    (difference,) = verify(write_choir(proof_of(samples))).differences
    assert difference.startswith(told)


def test_scores_are_compared_relatively(write_choir: WritePackage) -> None:
    near = {**SAMPLES[1], "scores": [-62.005]}

    result = verify(write_choir(proof_of([near])))

    assert result.differences == []
    assert result.scores_difference == pytest.approx(0.005 / 62.005, rel=0.01)


def test_another_graph_is_found_out(write_choir: WritePackage, change_package: Change) -> None:
    path = write_choir(proof_of(SAMPLES))

    def be_other(model: Any) -> None:
        (node,) = [node for node in model.graph.node if node.output[0] == "of_penalty"]
        node.input[1] = "thousand"

    change_package(path, be_other)
    assert len(verify(path).differences) == 4


def test_a_changed_byte_is_a_failure(write_choir: WritePackage) -> None:
    path = write_choir(proof_of(SAMPLES))
    data = bytearray(path.read_bytes())
    data[data.index(b"choir")] ^= 1
    path.write_bytes(data)

    with pytest.raises(ProofFailure, match=r"choir\.onnx: damaged"):
        verify(path)


@pytest.mark.parametrize(
    "proof",
    [
        "not json",
        "[]",
        "{}",
        '{"samples": []}',
        '{"samples": 4}',
        '{"samples": [4]}',
        json.dumps({"samples": [{**SAMPLES[0], "scores": [-1]}]}),
        json.dumps({"samples": [{**SAMPLES[0], "scores": [float("nan")] * 3}]}),
        json.dumps({"samples": [{**SAMPLES[0], "source_ids": [4, 999, 2]}]}),
        json.dumps({"samples": [{**SAMPLES[0], "prefix": [999]}]}),
        json.dumps({"samples": [{**SAMPLES[0], "options": {"seed": 1}}]}),
        json.dumps({"samples": [{**SAMPLES[0], "options": []}]}),
        json.dumps({"samples": [{**SAMPLES[0], "target_ids": None}]}),
        "[" * 100_000,
    ],
)
def test_a_proof_that_export_did_not_write(write_choir: WritePackage, proof: str) -> None:
    with pytest.raises(PackageError, match=r"choir\.onnx: damaged proof"):
        verify(write_choir({"transom.proof": proof}))


def test_what_is_no_package_has_no_proof(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="no such file"):
        verify(tmp_path / "missing.onnx")
