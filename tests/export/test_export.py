"""The exported file against PyTorch, at sizes that were not traced."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from builder import atomic
from builder.blueprint.export import Export as Form
from builder.blueprint.load import parse_blueprint
from builder.errors import PackageError, ProofFailure
from builder.export import export as exporting
from builder.export.build import Built, build
from builder.export.compare import OUTPUTS, scalar
from builder.export.export import Export, export_run
from builder.export.lines import random_batches
from builder.export.lively import redrawn
from builder.export.proof import compare_outputs, compare_steps
from builder.export.side_data import Content, Drafts, serialised
from builder.run import Run
from builder.runtime.package import Package
from tests.export.conftest import LINES, VARIANTS, ZEROS, generator_of

MakeRun = Callable[..., Path]
Exported = Callable[[str], Export]

pytestmark = pytest.mark.slow

PAPER, BEAM, SAMPLING, LIMITED = VARIANTS
every_variant = pytest.mark.parametrize("name", VARIANTS)

ASKED: dict[str, list[dict[str, Any]]] = {
    PAPER: [{}, {"max_length": 3}],
    BEAM: [
        {},
        {"beams": 1, "n_best": 1},
        {"beams": 5, "n_best": 5, "length_penalty": 0.0, "min_length": 4},
    ],
    SAMPLING: [
        {"n_best": 1},
        {"seed": 2**40, "temperature": 0.5},
        {"top_k": 2**31 - 1, "top_p": 1.0, "n_best": 4, "min_length": 6},
        {"top_k": 1},
    ],
    LIMITED: [{}, {"min_length": 9}],
}
"""The options of each that are asked for, besides the defaults."""


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


def beginnings(rows: int, width: int, vocab_size: int) -> torch.Tensor:
    """Such as rows may be asked for: some free, some with free places inside."""
    generator = torch.Generator().manual_seed(rows * 10 + width)
    ids = torch.randint(-1, vocab_size, (rows, width), generator=generator)
    return torch.where(ids <= 2, -1, ids)


def cases(name: str) -> Iterator[tuple[tuple[int, int], dict[str, Any]]]:
    for shape in [(1, 1), (1, 2), (2, 3), (5, 17), (16, 7)]:
        for asked in ASKED[name]:
            yield shape, asked


@every_variant
def test_equals_pytorch_at_sizes_not_traced(exported: Exported, name: str) -> None:
    export = exported(name)
    generator, engine = generator_of(export.path.parent), session(export.path)
    vocab_size, different = generator.source.vocab_size, set()
    for (rows, width), asked in cases(name):
        ids = draw(rows, width, vocab_size)
        prefix = beginnings(rows, width % 5 + 1, vocab_size) if generator.takes_prefix else None
        given = {option: scalar(value) for option, value in asked.items()}
        given |= {"target_prefix": prefix.numpy()} if prefix is not None else {}

        ours = engine.run(OUTPUTS, {"source_ids": ids.numpy(), **given})

        theirs = generator.ids(ids, asked=asked, prefix=prefix)
        np.testing.assert_array_equal(ours[0], theirs.target_ids)
        np.testing.assert_allclose(ours[1], theirs.scores, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(ours[2], theirs.lengths)
        np.testing.assert_array_equal(ours[3], theirs.ended)
        different |= set(map(tuple, ours[0].reshape(-1, ours[0].shape[2]).tolist()))
    assert len(different) > 5
    assert export.proof.varied
    assert export.size_bytes <= 1.02 * export.parameter_bytes + 200_000


@every_variant
def test_a_row_does_not_depend_on_its_batch(exported: Exported, name: str) -> None:
    """Though others end before it, so that the loop goes on with fewer rows."""
    export = exported(name)
    generator, engine = generator_of(export.path.parent), session(export.path)
    ids = draw(16, 11, generator.source.vocab_size).numpy()
    prefix = beginnings(16, 2, generator.source.vocab_size).numpy()

    def run(source: np.ndarray, prefix: np.ndarray) -> list[np.ndarray]:
        there = {"target_prefix": prefix} if generator.takes_prefix else {}
        return engine.run(OUTPUTS, {"source_ids": source, **there})

    together = run(ids, prefix)

    for row, source in enumerate(ids):
        alone = run(source[source != 0][None], prefix[row : row + 1])
        longest = alone[0].shape[2]
        np.testing.assert_array_equal(together[0][row, :, :longest], alone[0][0])
        assert not together[0][row, :, longest:].any()
        np.testing.assert_allclose(together[1][row], alone[1][0], rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(together[2][row], alone[2][0])
        np.testing.assert_array_equal(together[3][row], alone[3][0])
    assert len(set(together[2].max(axis=1).tolist())) > 3


@every_variant
def test_what_is_asked_of_outputs_is_done(exported: Exported, name: str) -> None:
    export = exported(name)
    engine, run = session(export.path), Run.open(export.path.parent)
    strategy, tokenizer = run.blueprint.generation, run.target_tokenizer
    ids = draw(16, 9, tokenizer.vocab_size)
    own = np.floor((ids != 0).sum(1).numpy() * strategy.max_length.ratio).astype(int)
    limits = (own + strategy.max_length.plus)[:, None]
    free = {"target_prefix": np.full((16, 1), -1)} if strategy.target_prefix else {}
    limits = np.minimum(limits, 30) if name == SAMPLING else limits

    target, scores, lengths, ended = engine.run(OUTPUTS, {"source_ids": ids.numpy(), **free})

    assert (lengths <= limits).all()
    assert (lengths == np.broadcast_to(limits, lengths.shape))[(lengths > 0) & ~ended].all()
    assert (scores <= 0).all()
    assert (np.diff(scores) <= 0).all() or name == SAMPLING
    written = np.arange(target.shape[2]) < lengths[..., None]
    assert (target[written] >= 2).all()
    assert not target[~written].any()
    assert (lengths[ended] >= strategy.min_length).all()
    barred = {tokenizer.id_of(token) for token in strategy.suppress_tokens}
    assert barred.isdisjoint(target[written].tolist())
    if size := strategy.no_repeat_ngram_size:
        for row, length, end in zip(
            target.reshape(-1, target.shape[2]).tolist(),
            lengths.ravel(),
            ended.ravel(),
            strict=True,
        ):
            text = row[: length - end]
            grams = [tuple(text[i : i + size]) for i in range(len(text) - size + 1)]
            assert len(set(grams)) == len(grams)


def test_one_file_of_standard_operators(exported: Exported) -> None:
    export = exported(PAPER)
    model = onnx.load(export.path)
    onnx.checker.check_model(model, full_check=True)
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 20)]
    rows = next(node for node in model.graph.node if node.op_type == "Loop").attribute[0].g
    steps = next(node for node in rows.node if node.op_type == "Loop").attribute[0].g
    graphs = (model.graph, rows, steps)
    operators = [[node.op_type for node in graph.node] for graph in graphs]
    assert not any("Dropout" in each for each in operators)
    assert [each.count("If") for each in operators] == [0, 1, 0]
    assert [each.count("Loop") for each in operators] == [1, 1, 0]
    assert not steps.initializer
    numbers = [sum(math.prod(one.dims) for one in graph.initializer) for graph in graphs]
    assert numbers[0] < 50 < numbers[1]
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


@every_variant
def test_inputs_are_the_options_of_the_strategy(exported: Exported, name: str) -> None:
    export = exported(name)
    generator, model = generator_of(export.path.parent), onnx.load(export.path)
    prefix = ["target_prefix"] if generator.takes_prefix else []

    inputs = [value.name for value in model.graph.input]

    assert inputs == ["source_ids", *generator.options, *prefix]
    defaults = {
        each.name: onnx.numpy_helper.to_array(each)[()]
        for each in model.graph.initializer
        if each.name in inputs
    }
    assert defaults == {option: scalar(value) for option, value in generator.options.items()}
    stored = {entry.key: entry.value for entry in model.metadata_props}
    assert json.loads(stored["transom.options"]) == generator.options


def test_holds_what_running_needs_and_no_path(exported: Exported) -> None:
    export = exported(PAPER)
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


def test_a_flipped_byte_of_a_weight_is_refused(exported: Exported, tmp_path: Path) -> None:
    path = exported(PAPER).path
    data = bytearray(path.read_bytes())
    weights = Run.open(path.parent).load_model().decoder.state_dict()
    largest = max(weights.values(), key=torch.Tensor.numel).numpy().tobytes()
    data[data.index(largest) + len(largest) // 2] ^= 1
    damaged = tmp_path / "damaged.onnx"
    damaged.write_bytes(data)

    with pytest.raises(PackageError, match=r"damaged\.onnx: damaged"):
        Package.load(damaged)
    Package.load(path)


@every_variant
def test_records_random_ids_with_what_it_gives_for_them(exported: Exported, name: str) -> None:
    export = exported(name)
    engine = session(export.path)
    takes_prefix = VARIANTS[name][1].get("generation", {}).get("target_prefix", False)
    assert len(export.proof.samples) == export.proof.lines - len(LINES)
    for sample in export.proof.samples:
        given = {option: scalar(value) for option, value in sample["options"].items()}  # type: ignore[attr-defined]
        if takes_prefix:
            given["target_prefix"] = np.array([sample["prefix"] or [-1]])
        ids, scores, lengths, _ = engine.run(
            OUTPUTS, {"source_ids": [sample["source_ids"]], **given}
        )
        pairs = zip(ids[0].tolist(), lengths[0].tolist(), strict=True)
        assert [row[:length] for row, length in pairs if length] == sample["target_ids"]
        assert scores[0][lengths[0] > 0] == pytest.approx(sample["scores"], rel=1e-4)


def test_what_is_set_for_one_file_changes_no_run(make_run: MakeRun, tmp_path: Path) -> None:
    """Positions may end before the traced example; the place may be reached by a detour."""
    few = {
        side: {"positions": {"kind": "learned", "max_length": count}}
        for side, count in (("encoder", 4), ("decoder", 2))
    }
    folder = make_run(few)
    stored = (folder / "blueprint.yaml").read_bytes()
    said: list[str] = []

    export = export_run(
        folder,
        out=tmp_path / "new" / ".." / "other" / "x.onnx",
        overrides=["generation.max_length.ratio=1000", "export.proof.embed=true"],
        say=said.append,
    )

    assert export.path == (tmp_path / "other" / "x.onnx").resolve()
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    assert (folder / "blueprint.yaml").read_bytes() == stored
    entries = {entry.key: entry.value for entry in onnx.load(export.path).metadata_props}
    kept = parse_blueprint(entries["transom.blueprint"], "stored").generation.max_length
    limits = json.loads(entries["transom.limits"])
    assert kept.ratio == limits["ratio"] == 1000
    assert (limits["source"], limits["target"]) == (4, 2)
    source_ids = draw(5, 4, Run.open(folder).source_tokenizer.vocab_size)
    (lengths,) = session(export.path).run(["lengths"], {"source_ids": source_ids.numpy()})
    assert lengths.max() == 2
    (counted,) = (line for line in said if line.startswith("comparing the outputs of"))
    assert counted.split()[-2] == str(export.proof.lines)
    (short,) = Run.open(folder).source_tokenizer.encode(["a"])  # the only line that fits
    assert len(export.proof.samples) == export.proof.lines
    assert export.proof.samples[-1]["source_ids"] == short


def test_outputs_that_do_not_vary_are_told_and_compared_with_others(make_run: MakeRun) -> None:
    said: list[str] = []

    export = export_run(make_run(lively=False), say=said.append)

    assert not export.proof.varied
    assert any("warning" in line for line in said)


@pytest.fixture(scope="module")
def other(exported: Exported) -> Built:
    """The parts of a file with other weights than the run's, and without defaults."""
    generator = generator_of(exported(PAPER).path.parent)
    another = generator.with_model(redrawn(generator.decoding.model, 7, 1.0))
    return build(another, Form(options="inputs"), Drafts(Path("other.onnx")))


def test_options_may_be_plain_inputs(other: Built) -> None:
    engine = onnxruntime.InferenceSession(
        serialised(other.graph), providers=["CPUExecutionProvider"]
    )

    assert [value.name for value in engine.get_inputs()] == ["source_ids", "max_length"]
    assert engine.get_overridable_initializers() == []
    given = {"source_ids": np.array([[4, 5, 2]]), "max_length": np.array(3)}
    assert engine.run(["lengths"], given)[0].item() <= 3


def test_other_weights_are_found_out_by_steps_and_by_outputs(
    exported: Exported, other: Built
) -> None:
    generator = generator_of(exported(PAPER).path.parent)
    another = generator.with_model(redrawn(generator.decoding.model, 7, 1.0))
    batches = random_batches(generator)[:2]

    compare_steps(another, other.step, batches)
    compare_outputs(another, Content(serialised(other.graph)), batches).verdict()
    with pytest.raises(ProofFailure, match="logits"):
        compare_steps(generator, other.step, batches)
    with pytest.raises(ProofFailure, match="lines"):
        compare_outputs(generator, Content(serialised(other.graph)), batches).verdict()


def test_a_failed_proof_leaves_the_old_file(
    exported: Exported, other: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = exported(PAPER).path
    before = path.read_bytes()
    monkeypatch.setattr(exporting, "build", lambda *_: other)

    with pytest.raises(ProofFailure):
        export_run(path.parent)

    assert path.read_bytes() == before
    assert sorted(each.suffix for each in path.parent.iterdir()).count(".tmp") == 0


def test_an_interruption_leaves_the_old_file(
    exported: Exported, other: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes when the new file is written and does not have its name yet."""
    path = exported(PAPER).path
    before, files = path.read_bytes(), sorted(path.parent.iterdir())
    proof = exported(PAPER).proof
    monkeypatch.setattr(exporting, "_prove", lambda *_: (other.graph, Content(b""), proof))

    def interrupt(_: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic, "_sync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        export_run(path.parent)

    assert path.read_bytes() == before
    assert sorted(path.parent.iterdir()) == files
