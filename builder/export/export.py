"""A trained run into its ONNX file: trace, join, prove, write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import assert_never

import onnx_ir as ir

from builder.blueprint.export import Float16, Float32, Int8
from builder.blueprint.load import load_blueprint
from builder.blueprint.override import allow_only
from builder.errors import RunError, printable
from builder.export import proof as gate
from builder.export.build import build
from builder.export.compare import scalar
from builder.export.gate import Bound, narrow
from builder.export.judge import make_judge, points_of
from builder.export.lines import own_batches, random_batches
from builder.export.lively import lively
from builder.export.package import metadata, pack
from builder.export.precision import Form
from builder.export.proof import Proof
from builder.export.side_data import Content, Drafts, beside, drafts, write
from builder.generate import Generator
from builder.run import BLUEPRINT, Run, is_writable, settled

Say = Callable[[str], None]


@dataclass(frozen=True)
class Export:
    """A written file and the proof that let it be written."""

    path: Path
    size_bytes: int
    """Of all files."""
    parameter_bytes: int
    """Of the network, each shared parameter once."""
    proof: Proof
    side: Path | None = None
    """The second file, where one cannot hold the weights; both belong together."""


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
        ProofFailure: The file would not do what the trained network does.
    """
    run = _open(folder, overrides)
    path = settled(out or run.package)
    check_place(path)
    model = run.load_model()
    parameter_bytes = sum(p.numel() * p.element_size() for p in model.parameters())
    tokenizers = (run.source_tokenizer, run.target_tokenizer)
    generator = Generator.of(model, tokenizers, run.blueprint.generation)
    with drafts(path) as room:
        graph, file, proof = _prove(run, generator, room, say)
        packed = pack(graph, metadata(run, generator, proof), file)
        path, *more = write(path, packed)
    side = next(iter(more), None)
    return Export(path, packed.size_bytes, parameter_bytes, proof, side)


def check_place(path: Path) -> None:
    """Refuse a place that no file can be written to.

    Raises:
        RunError: It is a folder, or in something that is none, or may not be written to.
    """
    for each in (path, beside(path)):
        if each.is_dir():
            place = printable(each.absolute())
            raise RunError(f"{place}: is a folder; the name of a file is needed")
    if not is_writable(path.absolute().parent):
        raise RunError(f"{printable(path.absolute())}: cannot be written to")


def _open(folder: Path, overrides: Sequence[str]) -> Run:
    """The run, its blueprint changed by `overrides`."""
    allow_only(overrides, "export", "generation", reason="what was trained stays as it is")
    run = Run.open(folder)
    return replace(run, blueprint=load_blueprint(folder / BLUEPRINT, overrides))


def _prove(
    run: Run, generator: Generator, room: Drafts, say: Say
) -> tuple[ir.Model, Content, Proof]:
    """The whole graph of the network, the same as a file, and how it came out beside it."""
    random = random_batches(generator)
    own = own_batches(run, generator.decoding.model.source_embedding.max_length)
    batches = random + own
    say("tracing the network and its search")
    graph, step = build(generator, run.blueprint.export, room)
    say("comparing the step's logits")
    difference = gate.compare_steps(generator, step, random)
    del step  # as large as the decoder
    file = room.content(graph)
    say(f"comparing the outputs of {sum(len(batch.source_ids) for batch in batches)} lines")
    proof = gate.compare_outputs(generator, file, batches)
    proof.logits_difference = difference
    proof.verdict()
    if not proof.varied:
        say("warning: outputs vary too little to prove much; compared with random weights too")
        other = lively(generator, batches)
        rescaled = room.content(build(other, run.blueprint.export, room).graph)
        gate.compare_outputs(other, rescaled, batches).verdict()
    graph, file, proof.precision = _narrowed(run, generator, (graph, file), room, say)
    told = batches if run.blueprint.export.proof.embed else random
    proof.samples = gate.samples(file, generator.options, told)
    return graph, file, proof


def _narrowed(
    run: Run, generator: Generator, exact: tuple[ir.Model, Content], room: Drafts, say: Say
) -> tuple[ir.Model, Content, dict[str, object] | None]:
    """The graph in the precision that the blueprint asks for, and how it came out."""
    match run.blueprint.export.precision:
        case Float32():
            return *exact, None
        case Float16(max_drop=max_drop):
            form: Form = "float16"
        case Int8(weights=weights, max_drop=max_drop):
            form = weights
        case unreachable:
            assert_never(unreachable)
    judge, feeds = make_judge(
        run,
        generator.decoding.model.source_embedding.max_length,
        points_of(run),
        {name: scalar(value) for name, value in generator.options.items()},
        takes_prefix=generator.takes_prefix,
    )
    bound = Bound(judge, feeds, max_drop)
    graph, file, verdict = narrow(exact[1], form, bound=bound, room=room, say=say)
    return graph, file, verdict.summary()
