"""A trained run into its ONNX file: trace, join, prove, write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import onnx_ir as ir

from builder import atomic
from builder.blueprint.load import load_blueprint
from builder.blueprint.override import allow_only
from builder.errors import RunError, SizeFailure, printable
from builder.export import proof as gate
from builder.export.join import join
from builder.export.lines import Batch, own_batches, random_batches
from builder.export.lively import lively
from builder.export.package import pack
from builder.export.proof import Proof
from builder.export.trace import Traced, trace
from builder.generate import length_rule
from builder.nn.transformer import Transformer
from builder.run import BLUEPRINT, Run, is_writable, settled

FILE_BYTES = 2**31 - 1
"""What one ONNX file can hold."""
BESIDE_WEIGHTS_BYTES = 2**26
"""What nodes, tokenizers and proof may take of it."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Export:
    """A written file and the proof that let it be written."""

    path: Path
    size_bytes: int
    parameter_bytes: int
    """Of the network, each shared parameter once."""
    proof: Proof


def export_run(
    folder: Path,
    *,
    out: Path | None = None,
    overrides: Sequence[str] = (),
    say: Say = lambda _: None,
) -> Export:
    """Write the ONNX file of the run in `folder`, to `out` or into the run itself.

    Nothing takes the file's name before it is proved; a file that stood there stays until then.
    `overrides` change `export` and `generation` in this file alone: the run stays as it is. `say`
    is told what goes on, a line at a time.

    Raises:
        BlueprintError: `overrides` change something else, or are wrong.
        RunError: The run is not complete, or the file cannot be written there.
        SizeFailure: The weights do not fit into one file.
        ProofFailure: The file would not do what the trained network does.
    """
    run = _open(folder, overrides)
    path = settled(out or run.package)
    check_place(path)
    model = run.load_model()
    parameter_bytes = sum(p.numel() * p.element_size() for p in model.parameters())
    check_size(parameter_bytes)
    graph, proof = _prove(run, model, say)
    data = pack(graph, run, model, proof)
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_bytes(path, data)
    return Export(path, len(data), parameter_bytes, proof)


def check_place(path: Path) -> None:
    """Refuse a place that no file can be written to.

    Raises:
        RunError: It is a folder, or in something that is none, or may not be written to.
    """
    place = printable(path.absolute())
    if path.is_dir():
        raise RunError(f"{place}: is a folder; the name of a file is needed")
    if not is_writable(path.absolute().parent):
        raise RunError(f"{place}: cannot be written to")


def check_size(parameter_bytes: int) -> None:
    """Refuse weights that one file cannot hold together with what belongs to them.

    Raises:
        SizeFailure: They are larger.
    """
    room = FILE_BYTES - BESIDE_WEIGHTS_BYTES
    if parameter_bytes > room:
        raise SizeFailure(
            f"the weights take {parameter_bytes:,} bytes, and one ONNX file has room for {room:,} "
            f"of its {FILE_BYTES:,}: a smaller model is needed"
        )


def _open(folder: Path, overrides: Sequence[str]) -> Run:
    """The run, its blueprint changed by `overrides`."""
    allow_only(overrides, "export", "generation", reason="what was trained stays as it is")
    run = Run.open(folder)
    return replace(run, blueprint=load_blueprint(folder / BLUEPRINT, overrides))


def _prove(run: Run, model: Transformer, say: Say) -> tuple[ir.Model, Proof]:
    """The whole graph of the network, and how it came out beside it."""
    strategy = run.blueprint.generation
    random = random_batches(model)
    batches = random + own_batches(run, model.source_embedding.max_length)
    say("tracing the network and its search")
    traced = _trace(run, model)
    say("comparing the step's logits")
    difference = gate.compare_steps(model, strategy, _serialise(traced.step), random)
    graph = join(traced, opset=run.blueprint.export.opset)
    file = _serialise(graph)
    say(f"comparing the outputs of {sum(len(batch.source_ids) for batch in batches)} lines")
    proof = gate.compare_outputs(model, strategy, file, batches)
    proof.logits_difference = difference
    proof.verdict()
    if not proof.varied:
        say("warning: the model writes the same for every line; compared with random weights too")
        _prove_rescaled(run, model, batches)
    proof.samples = gate.samples(file, random[:1])
    return graph, proof


def _trace(run: Run, model: Transformer) -> Traced:
    rule = length_rule(run.blueprint.generation, model)
    return trace(model, rule, opset=run.blueprint.export.opset)


def _serialise(graph: ir.Model) -> bytes:
    return ir.to_proto(graph).SerializeToString()


def _prove_rescaled(run: Run, model: Transformer, batches: list[Batch]) -> None:
    """Compare the same graph with weights under which outputs vary."""
    other = lively(model, run.blueprint.generation, batches)
    graph = join(_trace(run, other), opset=run.blueprint.export.opset)
    gate.compare_outputs(other, run.blueprint.generation, _serialise(graph), batches).verdict()
