"""The whole file of a run in fewer bits, at sizes that were not traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest
import torch

from builder.blueprint.plan import make_plan
from builder.errors import RunError
from builder.export.damage import of_products
from builder.export.export import export_run
from builder.export.judge import make_judge
from builder.export.precision import Form, candidates, reduce
from builder.export.side_data import Content, Drafts
from builder.generate import generate_lines
from builder.nn.joint import join_projections
from builder.run import Run
from tests.export import toy

MakeRun = Callable[..., Path]

pytestmark = pytest.mark.slow

GRAPH_BYTES = 200_000
"""What nodes, tokenizer and proof may take beside the weights."""
SHAPES = [(1, 1), (1, 2), (2, 3), (5, 30), (16, 7)]


class Exported(NamedTuple):
    run: Run
    file: bytes
    parameters: dict[str, np.ndarray]

    def graph(self) -> ir.Model:
        return ir.from_proto(onnx.ModelProto.FromString(self.file))


@pytest.fixture(scope="module")
def exported(make_run: MakeRun) -> Exported:
    """A run whose weights outweigh its graph, in float32."""
    wide: dict[str, Any] = {"feed_forward": {"d_ff": 16384}}
    learned = {"positions": {"kind": "learned", "max_length": 40}}
    model = {"encoder": {**wide, **learned}, "decoder": wide, "embeddings": {"tie": "all"}}
    folder = make_run(model)
    file = export_run(folder).path.read_bytes()
    run = Run.open(folder)
    model = run.load_model()
    join_projections(model)
    named = model.named_parameters()
    return Exported(run, file, {name: value.detach().numpy() for name, value in named})


def outputs(file: bytes, max_length: int) -> list[list[np.ndarray]]:
    engine = onnxruntime.InferenceSession(file, toy.options())
    found = []
    for rows, width in SHAPES:
        generator = torch.Generator().manual_seed(rows * 100 + width)
        ids = torch.randint(3, 11, (rows, width), generator=generator)
        ids[:, -1] = 2
        feed = {"source_ids": ids.numpy(), "max_length": np.array(max_length)}
        found.append(engine.run(None, feed))
    return found


@pytest.mark.parametrize(("form", "allowed"), [("float16", 0.02), ("uint8", 0.3), ("int7", 0.3)])
def test_gives_nearly_what_float32_gives(exported: Exported, form: Form, allowed: float) -> None:
    graph = exported.graph()

    reduce(graph, form)

    file = ir.to_proto(graph).SerializeToString()
    onnx.checker.check_model(onnx.ModelProto.FromString(file), full_check=True)
    same, first = [], []
    for ours, theirs in zip(outputs(file, 1), outputs(exported.file, 1), strict=True):
        same.append(ours[0] == theirs[0])
        np.testing.assert_allclose(ours[1], theirs[1], atol=allowed)
        first += theirs[0].ravel().tolist()
    assert np.concatenate(same, axis=0).mean() > 0.9
    assert len(set(first)) > 1
    assert all(
        target_ids.shape[0] == rows
        for (rows, _), (target_ids, *_) in zip(SHAPES, outputs(file, 20), strict=True)
    )


@pytest.mark.parametrize(("form", "share"), [("float16", 0.52), ("uint8", 0.30), ("int7", 0.30)])
def test_is_as_small_as_the_plan_says(exported: Exported, form: Form, share: float) -> None:
    graph = exported.graph()
    reduce(graph, form)

    size = len(ir.to_proto(graph).SerializeToString())

    parameter_bytes = sum(value.nbytes for value in exported.parameters.values())
    assert size <= share * parameter_bytes
    plan = make_plan(exported.run.blueprint).file["float16" if form == "float16" else "int8"]
    assert abs(size - plan.fixed) <= 0.02 * plan.fixed + GRAPH_BYTES


def test_every_matrix_has_a_name_and_is_rounded(exported: Exported, tmp_path: Path) -> None:
    graph = exported.graph()
    matrices = {f"model.{name}" for name, value in exported.parameters.items() if value.ndim == 2}

    names = set(candidates(graph, "uint8"))

    positions = {name for name in matrices if ".positions." in name}
    assert len(positions) == 1
    tied = {
        "model.output",
        "model.source_embedding.tokens.weight",
        "model.target_embedding.tokens.weight",
    }
    assert names - tied == matrices - positions - tied
    assert len(names & tied) == 1
    feed = {"source_ids": np.array([[5, 6, 2]]), "max_length": np.array(8)}
    damage = of_products(graph, "uint8", [feed], Drafts(tmp_path / "x.onnx"))
    assert set(damage) == names
    assert all(0 < error < 0.1 for error in damage.values())


def exact(outputs: Sequence[str], references: Sequence[str]) -> float:
    return 100 * sum(map(str.__eq__, outputs, references)) / len(references)


def test_the_judge_reads_the_runs_own_pairs(exported: Exported) -> None:
    """The scores of an untrained network say nothing; those against its own outputs do."""
    run = exported.run
    seen: list[tuple[str, str]] = []

    def points(outputs: Sequence[str], references: Sequence[str]) -> float:
        seen.extend(zip(references, outputs, strict=True))
        return exact(outputs, references)

    judge, feeds = make_judge(run, 40, points)
    outcome = judge(Content(exported.file))

    tokenizers = (run.source_tokenizer, run.target_tokenizer)
    lines = [reference for reference, _ in seen]  # in these pairs, sources equal targets
    theirs = generate_lines(run.load_model(), tokenizers, lines, strategy=run.blueprint.generation)
    assert [output for _, output in seen] == [output.text for output in theirs]
    assert len(outcome.outputs) == len(lines) == sum(len(feed["source_ids"]) for feed in feeds) > 5
    assert outcome.score == exact([output.text for output in theirs], lines)


def test_the_judge_leaves_out_what_does_not_fit(exported: Exported) -> None:
    _, feeds = make_judge(exported.run, 4, exact)

    assert {feed["source_ids"].shape[1] for feed in feeds} <= {1, 2, 3, 4}


def test_missing_pairs_are_told(exported: Exported, tmp_path: Path) -> None:
    run = Run(tmp_path, exported.run.blueprint)

    with pytest.raises(RunError, match=r"proof\.jsonl: no such file"):
        make_judge(run, None, exact)
    for damage in ("{", '{"source": "a"}', "3"):
        (tmp_path / "proof.jsonl").write_text(damage, encoding="utf-8")
        with pytest.raises(RunError, match="damaged"):
            make_judge(run, None, exact)
    (tmp_path / "proof.jsonl").write_text("", encoding="utf-8")
    tokenizer = exported.run.source_tokenizer.to_json()
    (tmp_path / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
    with pytest.raises(RunError, match="no pair fits"):
        make_judge(run, None, exact)
