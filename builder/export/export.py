"""A trained run into its ONNX file: trace, join, prove, write."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import onnx_ir as ir
import torch
from torch import Tensor

from builder import atomic
from builder.export import proof as gate
from builder.export.join import join
from builder.export.lively import lively
from builder.export.package import pack
from builder.export.proof import Proof
from builder.export.trace import Traced, trace
from builder.generate import length_rule, pad
from builder.nn.transformer import Transformer
from builder.run import PROOF, Run
from builder.text.batches import by_length

PROOF_BATCH_TOKENS = 1024
LONGEST_RANDOM = 256
"""The longest random source of the proof, in tokens, where the model has no limit."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Export:
    """A written file and the proof that let it be written."""

    path: Path
    size_bytes: int
    parameter_bytes: int
    """Of the network, each shared parameter once."""
    proof: Proof


def export_run(folder: Path, *, out: Path | None = None, say: Say = lambda _: None) -> Export:
    """Write the ONNX file of the run in `folder`, to `out` or into the run itself.

    Nothing takes the file's name before it is proved; a file that stood there stays until then.
    `say` is told what goes on, a line at a time.

    Raises:
        RunError: The run is not complete.
        ProofFailure: The file would not do what the trained network does.
    """
    run = Run.open(folder)
    path = out or run.package
    model = run.load_model()
    batches = gate.adversarial_batches(
        run.source_tokenizer.vocab_size, model.source_embedding.max_length or LONGEST_RANDOM
    )
    say("tracing the network and its search")
    traced = _trace(run, model)
    say("comparing the step's logits")
    step = _serialise(traced.step)
    difference = gate.compare_steps(model, run.blueprint.generation, step, batches)
    graph = join(traced, opset=run.blueprint.export.opset)
    file = _serialise(graph)
    lines = batches + _proof_lines(run, model.source_embedding.max_length)
    say(f"comparing the outputs of {sum(map(len, lines))} lines")
    proof = gate.compare_outputs(model, run.blueprint.generation, file, lines)
    proof.logits_difference = difference
    proof.verdict()
    if not proof.varied:
        say("warning: the model writes the same for every line; compared with random weights too")
        _prove_rescaled(run, model, lines)
    proof.samples = gate.samples(file, batches[:1])
    data = pack(graph, run, model, proof)
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_bytes(path, data)
    parameter_bytes = sum(p.numel() * p.element_size() for p in model.parameters())
    return Export(path, len(data), parameter_bytes, proof)


def _trace(run: Run, model: Transformer) -> Traced:
    rule = length_rule(run.blueprint.generation, model)
    return trace(model, rule, opset=run.blueprint.export.opset)


def _serialise(graph: ir.Model) -> bytes:
    return ir.to_proto(graph).SerializeToString()


def _prove_rescaled(run: Run, model: Transformer, lines: list[Tensor]) -> None:
    """Compare the same graph with weights under which outputs vary."""
    other = lively(model, run.blueprint.generation, lines)
    graph = join(_trace(run, other), opset=run.blueprint.export.opset)
    gate.compare_outputs(other, run.blueprint.generation, _serialise(graph), lines).verdict()


def _proof_lines(run: Run, limit: int | None) -> list[Tensor]:
    """Read the run's own validation sources, padded into batches."""
    path = run.folder / PROOF
    if not path.is_file():
        return []
    pairs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    encoded = run.source_tokenizer.encode([pair["source"] for pair in pairs])
    fitting = [ids for ids in encoded if len(ids) > 1 and (limit is None or len(ids) <= limit)]
    groups = by_length([len(ids) for ids in fitting], batch_tokens=PROOF_BATCH_TOKENS)
    return [pad([fitting[index] for index in group]).to(torch.int64) for group in groups]
