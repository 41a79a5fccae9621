"""The exported file against PyTorch, at sizes that were not traced."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from builder import atomic
from builder.blueprint.load import parse_blueprint
from builder.errors import DataError, PackageError, ProofFailure
from builder.export import export as exporting
from builder.export.export import Export, export_run
from builder.export.lively import redrawn
from builder.generate import generate_ids
from builder.nn.transformer import Transformer
from builder.run import Run
from builder.runtime.package import Package

MakeRun = Callable[..., Path]

pytestmark = pytest.mark.slow

PRE = {"norm": {"kind": "rms_norm", "placement": "pre"}}
SWIGLU = {"feed_forward": {"d_ff": 48, "activation": "swiglu"}}
WINDOW = {"kind": "window", "before": 2}
ROTARY = {"kind": "rotary"}

VARIANTS: dict[str, dict[str, Any]] = {
    "the paper": {},
    "rotary, pre, rms, swiglu, windows": {
        "encoder": {"positions": ROTARY, "mask": {**WINDOW, "after": 1}, **PRE, **SWIGLU},
        "decoder": {"positions": ROTARY, "mask": WINDOW, **PRE, **SWIGLU},
        "embeddings": {"tie": "none", "scale": False},
    },
    "learned, gelu, wide heads": {
        "encoder": {
            "positions": {"kind": "learned", "max_length": 40},
            "attention": {"heads": 2, "d_k": 6, "d_v": 10, "bias": True},
            "feed_forward": {"d_ff": 48, "activation": "gelu", "bias": False},
        },
        "decoder": {"positions": {"kind": "learned", "max_length": 30}, "layers": 2},
        "embeddings": {"tie": "target_output"},
    },
    "no positions, causal encoder": {
        "encoder": {"positions": {"kind": "none"}, "mask": {"kind": "causal"}},
        "decoder": {"positions": {"kind": "none"}},
        "embeddings": {"tie": "source_output"},
    },
}


def session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def draw(rows: int, width: int, vocab_size: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(rows * 100 + width)
    ids = torch.randint(3, vocab_size, (rows, width), generator=generator)
    lengths = torch.randint(1, width + 1, (rows,), generator=generator)
    lengths[-1] = width
    ids[torch.arange(rows), lengths - 1] = 2
    return torch.where(torch.arange(width)[None] < lengths[:, None], ids, 0)


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_equals_pytorch_at_sizes_not_traced(make_run: MakeRun, variant: dict[str, Any]) -> None:
    folder = make_run(variant)

    export = export_run(folder)

    run = Run.open(folder)
    model, engine = run.load_model(), session(export.path)
    different = set()
    for rows, width in [(1, 1), (1, 2), (2, 3), (3, 17), (5, 30), (16, 7)]:
        ids = draw(rows, width, run.source_tokenizer.vocab_size)
        ours = engine.run(None, {"source_ids": ids.numpy()})
        theirs = generate_ids(model, ids, strategy=run.blueprint.generation)
        np.testing.assert_array_equal(ours[0], theirs.target_ids)
        np.testing.assert_allclose(ours[1], theirs.scores, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(ours[2], theirs.lengths)
        np.testing.assert_array_equal(ours[3], theirs.ended)
        different |= set(map(tuple, ours[0][:, 0].tolist()))
    assert len(different) > 5
    assert export.size_bytes <= 1.02 * export.parameter_bytes + 200_000


ZEROS = f"As long as a digest: {'0' * 200}"


@pytest.fixture(scope="module")
def export(make_run: MakeRun) -> Export:
    """The file of a plain run."""
    return export_run(make_run(description=ZEROS))


def test_one_file_of_standard_operators(export: Export) -> None:
    model = onnx.load(export.path)
    onnx.checker.check_model(model, full_check=True)
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 20)]
    loop = next(node for node in model.graph.node if node.op_type == "Loop")
    operators = {
        node.op_type for graph in (model.graph, loop.attribute[0].g) for node in graph.node
    }
    assert not operators & {"Dropout", "If"}
    shapes = {
        value.name: [axis.dim_param for axis in value.type.tensor_type.shape.dim]
        for value in (*model.graph.input, *model.graph.output)
    }
    assert shapes == {
        "source_ids": ["batch", "source"],
        "max_length": [],
        "target_ids": ["batch", "n_best", "target"],
        "scores": ["batch", "n_best"],
        "lengths": ["batch", "n_best"],
        "ended": ["batch", "n_best"],
    }
    assert [path.name for path in export.path.parent.glob("tiny.onnx*")] == ["tiny.onnx"]


def test_holds_what_running_needs_and_no_path(export: Export) -> None:
    folder = export.path.parent
    data = export.path.read_bytes()
    entries = {entry.key: entry.value for entry in onnx.load_from_string(data).metadata_props}
    assert json.loads(entries["transom.limits"]) == {
        "source": None,
        "target": None,
        "ratio": 1.0,
        "plus": 50,
    }
    assert entries["transom.tokenizer"] == Run.open(folder).source_tokenizer.to_json()
    assert str(Path(exporting.__file__).parents[2]).encode() not in data
    assert str(folder).encode() not in data
    assert parse_blueprint(entries["transom.blueprint"], "stored").description == ZEROS
    blank = data.replace(entries["transom.digest"].encode(), b"0" * 64)
    assert hashlib.sha256(blank).hexdigest() == entries["transom.digest"]


def test_a_flipped_byte_of_a_weight_is_refused(export: Export, tmp_path: Path) -> None:
    data = bytearray(export.path.read_bytes())
    weights = Run.open(export.path.parent).load_model().decoder.state_dict()
    largest = max(weights.values(), key=torch.Tensor.numel).numpy().tobytes()
    data[data.index(largest) + len(largest) // 2] ^= 1
    damaged = tmp_path / "damaged.onnx"
    damaged.write_bytes(data)

    with pytest.raises(PackageError, match=r"damaged\.onnx: damaged"):
        Package.load(damaged)
    Package.load(export.path)


def test_records_random_ids_with_what_it_gives_for_them(export: Export) -> None:
    engine = session(export.path)
    assert export.proof.samples
    for sample in export.proof.samples:
        ids, scores, lengths, _ = engine.run(
            None,
            {
                "source_ids": [sample["source_ids"]],
                "max_length": np.array(sample["max_length"]),
            },
        )
        assert ids[0, 0, : lengths[0, 0]].tolist() == sample["target_ids"]
        assert scores[0, 0] == pytest.approx(sample["score"], rel=1e-4)


def test_limits_each_row_by_its_own_source_and_the_option(make_run: MakeRun) -> None:
    folder = make_run()
    stored = (folder / "blueprint.yaml").read_bytes()
    overrides = ["generation.max_length.ratio=1.5", "generation.max_length.plus=1"]

    export = export_run(folder, overrides=overrides)

    assert (folder / "blueprint.yaml").read_bytes() == stored
    entries = {entry.key: entry.value for entry in onnx.load(export.path).metadata_props}
    kept = parse_blueprint(entries["transom.blueprint"], "stored").generation.max_length
    limits = json.loads(entries["transom.limits"])
    assert (kept.ratio, kept.plus) == (limits["ratio"], limits["plus"]) == (1.5, 1)
    engine = session(export.path)
    ids = draw(6, 9, Run.open(folder).source_tokenizer.vocab_size)
    own = np.floor((ids != 0).sum(1).numpy() * 1.5).astype(int) + 1
    _, _, lengths, ended = engine.run(None, {"source_ids": ids.numpy()})
    assert (lengths[:, 0] <= own).all()
    assert (lengths[:, 0] == own)[~ended[:, 0]].all()
    assert not ended.all()
    _, _, lengths, _ = engine.run(None, {"source_ids": ids.numpy(), "max_length": np.array(3)})
    assert lengths.max() == 3


def test_positions_may_end_before_the_traced_example(make_run: MakeRun) -> None:
    few = {
        side: {"positions": {"kind": "learned", "max_length": count}}
        for side, count in (("encoder", 4), ("decoder", 2))
    }

    export = export_run(make_run(few))

    package = Package.load(export.path)
    assert [one.length <= 2 for one in package.generate(["abc", "a", ""])] == [True] * 3
    with pytest.raises(DataError, match="5 tokens"):
        package.generate(["abcd"])


def test_outputs_without_bound_are_compared_within_one(make_run: MakeRun, tmp_path: Path) -> None:
    """Every line would have thousands of tokens."""
    out = tmp_path / "elsewhere" / "model.onnx"
    said: list[str] = []
    endless = {"kind": "greedy", "max_length": {"ratio": 1000}}

    export = export_run(make_run(generation=endless), out=out, say=said.append)

    assert export.path == out
    assert out.is_file()
    (counted,) = (line for line in said if line.startswith("comparing the outputs of"))
    assert counted.split()[-2] == str(export.proof.lines)
    assert all(len(sample["target_ids"]) <= 512 for sample in export.proof.samples)  # type: ignore[arg-type]


def test_a_row_does_not_depend_on_its_batch(export: Export) -> None:
    engine = session(export.path)
    ids = draw(9, 11, Run.open(export.path.parent).source_tokenizer.vocab_size).numpy()

    together = engine.run(None, {"source_ids": ids})

    for row, source in enumerate(ids):
        alone = engine.run(None, {"source_ids": source[source != 0][None]})
        length = alone[2][0, 0]
        assert together[2][row, 0] == length
        assert together[0][row, 0, :length].tolist() == alone[0][0, 0].tolist()
        assert not together[0][row, 0, length:].any()


def test_says_when_outputs_do_not_vary(make_run: MakeRun) -> None:
    said: list[str] = []

    export = export_run(make_run(lively=False), say=said.append)

    assert not export.proof.varied
    assert any("warning" in line for line in said)


def test_a_failed_proof_leaves_the_old_file(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_run()
    old = folder / "tiny.onnx"
    old.write_bytes(b"what stood here before")
    honest = exporting._trace

    def trace_another(run: Run, model: Transformer) -> object:
        return honest(run, redrawn(model, 7, 1.0))

    monkeypatch.setattr(exporting, "_trace", trace_another)
    with pytest.raises(ProofFailure):
        export_run(folder)

    assert old.read_bytes() == b"what stood here before"
    assert sorted(path.suffix for path in folder.iterdir()).count(".tmp") == 0


def test_an_interruption_leaves_the_old_file(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes when the new file is written and does not have its name yet."""
    folder = make_run()
    old = folder / "tiny.onnx"
    old.write_bytes(b"what stood here before")
    before = sorted(folder.iterdir())

    def interrupt(_: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic, "_sync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        export_run(folder)

    assert old.read_bytes() == b"what stood here before"
    assert sorted(folder.iterdir()) == before
