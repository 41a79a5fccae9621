"""Weights in a second file: written, sealed, loaded; ONX-05, ONX-15 and SEC-03 of the cases."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest

from builder.errors import DamageError, PackageError
from builder.export import side_data
from builder.export.export import Export, export_run
from builder.export.package import pack
from builder.runtime import digest
from builder.runtime.package import Package
from builder.runtime.side_file import KEY, check, side_file
from builder.runtime.verify import verify

MakeRun = Callable[..., Path]


@pytest.fixture(scope="module")
def whole(make_run: MakeRun) -> Export:
    """The file of a plain run, which holds its weights."""
    return export_run(make_run())


@pytest.fixture(scope="module")
def parted(whole: Export, tmp_path_factory: pytest.TempPathFactory) -> Export:
    """The same run in two files."""
    return export_in_two(whole.path.parent, tmp_path_factory.mktemp("parted") / "tiny.onnx")


def export_in_two(run: Path, out: Path) -> Export:
    """Export as if an ONNX file could hold no weights."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(side_data, "FILE_BYTES", side_data.BESIDE_WEIGHTS_BYTES)
        patch.setattr(side_data, "INSIDE_BYTES", 256)
        return export_run(run, out=out)


@pytest.fixture
def pair(parted: Export, tmp_path: Path) -> Path:
    """A copy of both files."""
    shutil.copytree(parted.path.parent, tmp_path / "copy")
    return tmp_path / "copy" / "tiny.onnx"


@pytest.fixture
def low(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everything but sizes go to a second file."""
    monkeypatch.setattr(side_data, "FILE_BYTES", side_data.BESIDE_WEIGHTS_BYTES)
    monkeypatch.setattr(side_data, "INSIDE_BYTES", 15)


LINES = ["abc", "deed", "", "feed a bee"]


def test_both_files_do_what_one_does(whole: Export, parted: Export) -> None:
    files = [parted.path, parted.side]
    assert sorted(parted.path.parent.iterdir()) == files
    assert parted.side == parted.path.with_name("tiny.onnx.data")
    assert parted.size_bytes == sum(path.stat().st_size for path in files if path)
    assert whole.side is None

    assert Package.load(parted.path).generate(LINES) == Package.load(whole.path).generate(LINES)
    assert verify(parted.path).differences == []
    engine = onnxruntime.InferenceSession(parted.path, providers=["CPUExecutionProvider"])
    assert engine.run(["lengths"], {"source_ids": np.array([[4, 2]])})[0].all()


def test_weights_stand_once_and_aligned_in_the_second_file(parted: Export) -> None:
    onnx.checker.check_model(parted.path, full_check=True)
    spans = []
    for tensor in tensors_outside(parted.path):
        told = {entry.key: entry.value for entry in tensor.external_data}
        assert told.pop("location") == "tiny.onnx.data"
        spans.append((int(told["offset"]), int(told["length"])))
    assert len(spans) == len(set(spans)) > 10
    assert all(offset % side_data.ALIGNMENT == 0 for offset, _ in spans)
    assert sum(length for _, length in spans) > 0.9 * parted.parameter_bytes


def test_the_metadata_seal_the_second_file(parted: Export) -> None:
    model = onnx.load(parted.path, load_external_data=False)
    (entry,) = (entry.value for entry in model.metadata_props if entry.key == KEY)
    content = parted.side.read_bytes() if parted.side else b""
    assert json.loads(entry) == {
        "name": "tiny.onnx.data",
        "size": len(content),
        "digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
    }


def test_a_second_export_writes_the_same_bytes(whole: Export, parted: Export) -> None:
    before = [path.read_bytes() for path in (parted.path, parted.side) if path]
    again = export_in_two(whole.path.parent, parted.path)
    assert [path.read_bytes() for path in (again.path, again.side) if path] == before
    assert len(list(parted.path.parent.iterdir())) == 2


def test_a_missing_or_renamed_second_file_is_told_by_name(pair: Path) -> None:
    data = pair.with_name("tiny.onnx.data")
    data.rename(pair.with_name("weights.data"))

    for load in (Package.load, verify):
        with pytest.raises(PackageError, match=f"missing: {data}") as caught:
            load(pair)
        assert not isinstance(caught.value, DamageError)


def test_a_renamed_onnx_file_finds_the_second(pair: Path) -> None:
    moved = pair.rename(pair.with_name("other.onnx"))
    assert Package.load(moved).generate(["abc"])[0].length > 0


def test_a_link_is_refused(pair: Path) -> None:
    data = pair.with_name("tiny.onnx.data")
    data.symlink_to(data.rename(pair.with_name("secret.bin")))

    with pytest.raises(PackageError, match=f"not a link.*{data}"):
        Package.load(pair)


@pytest.mark.parametrize("change", ["flip", "cut", "append"])
def test_a_changed_second_file_is_refused(pair: Path, change: str) -> None:
    data = pair.with_name("tiny.onnx.data")
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 1
    altered = {
        "flip": bytes(content),
        "cut": data.read_bytes()[:-1],
        "append": bytes(content) + b"0",
    }
    data.write_bytes(altered[change])

    with pytest.raises(DamageError, match=f"{data}"):
        Package.load(pair)


def tensors_outside(path: Path) -> list[onnx.TensorProto]:
    """The tensors of all graphs whose values lie elsewhere."""
    graphs, found = [onnx.load(path, load_external_data=False).graph], []
    while graphs:
        graph = graphs.pop()
        found += [tensor for tensor in graph.initializer if tensor.external_data]
        graphs += [a.g for node in graph.node for a in node.attribute if a.HasField("g")]
    return found


def graph_of(*weights: float) -> ir.Model:
    """A graph of two branches, which have their own weights, of four numbers each."""
    branches = []
    for place, weight in enumerate(weights):
        values = np.full(4, weight, np.float32)
        name = f"weights {place}"
        value = ir.val(name, const_value=ir.tensor(values, name=name))
        node = ir.node("Neg", [value], outputs=[ir.val(f"read {place}", ir.DataType.FLOAT, [4])])
        branch = ir.Graph([], node.outputs, nodes=[node], initializers=[value], name=f"b{place}")
        branches.append(branch)
    asked = ir.val("asked", ir.DataType.BOOL, [])
    outputs = [ir.val("read", ir.DataType.FLOAT, [4])]
    attributes = dict(zip(("then_branch", "else_branch"), branches, strict=True))
    choice = ir.node("If", [asked], attributes=attributes, outputs=outputs)
    graph = ir.Graph([asked], outputs, nodes=[choice], opset_imports={"": 20}, name="choice")
    return ir.Model(graph, ir_version=10)


def read(content: side_data.Content) -> list[list[float]]:
    engine = content.open()
    return [engine.run(None, {"asked": np.array(asked)})[0].tolist() for asked in (True, False)]


def packed(path: Path, *weights: float) -> list[Path]:
    """Write such a graph, sealed as an export is."""
    with side_data.drafts(path) as room:
        graph = graph_of(*weights)
        content = room.content(graph)
        return side_data.write(path, pack(graph, {digest.KEY: digest.BLANK}, content))


def are_whole(path: Path) -> bool:
    """Tell whether an ONNX file and the second one fit each other."""
    named = side_file(path.read_bytes())
    assert named is not None
    check(named, path.parent)
    return not digest.is_damaged(path.read_bytes())


@pytest.mark.usefixtures("low")
def test_weights_of_inner_graphs_are_read_from_the_draft(tmp_path: Path) -> None:
    with side_data.drafts(tmp_path / "x.onnx") as room:
        content = room.content(graph_of(1, 2))
        assert content.side is not None
        assert content.side.size_bytes == side_data.ALIGNMENT + 16
        assert read(content) == [[-1.0] * 4, [-2.0] * 4]
        assert not (tmp_path / "x.onnx.data").exists()
    assert list(tmp_path.iterdir()) == []


def test_small_weights_make_no_second_file_and_no_folder(tmp_path: Path) -> None:
    with side_data.drafts(tmp_path / "new" / "x.onnx") as room:
        content = room.content(graph_of(1, 2))
        assert read(content) == [[-1.0] * 4, [-2.0] * 4]
        assert (content.side, list(tmp_path.iterdir())) == (None, [])


@pytest.mark.usefixtures("low")
@pytest.mark.parametrize("moves", range(4))
def test_whatever_is_interrupted_leaves_a_pair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    """Of the renamings, so many are done: the old second file aside, then both new ones."""
    path, honest, done = tmp_path / "x.onnx", Path.replace, 0
    packed(path, 1, 2)
    before = [each.read_bytes() for each in (path, side_data.beside(path))]

    def replace(source: Path, target: Path) -> Path:
        nonlocal done
        done += 1
        if done == moves + 1:
            raise KeyboardInterrupt
        return honest(source, target)

    monkeypatch.setattr(Path, "replace", replace)
    if moves < 3:
        with pytest.raises(KeyboardInterrupt):
            packed(path, 3, 4)
        assert [each.read_bytes() for each in (path, side_data.beside(path))] == before
    else:
        packed(path, 3, 4)
    assert are_whole(path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["x.onnx", "x.onnx.data"]


@pytest.mark.usefixtures("low")
def test_what_is_left_of_an_old_pair_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.onnx"
    assert packed(path, 1, 2) == [path, side_data.beside(path)]
    monkeypatch.undo()

    assert packed(path, 1, 2) == [path]
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_only_has_the_name_stays(tmp_path: Path) -> None:
    path = tmp_path / "x.onnx"
    side_data.beside(path).write_bytes(b"of somebody else")
    path.write_bytes(b"what stood here before")

    assert packed(path, 1, 2) == [path]
    assert side_data.beside(path).read_bytes() == b"of somebody else"


def test_one_file_holds_what_protobuf_counts() -> None:
    assert np.iinfo(np.int32).max == side_data.FILE_BYTES
