"""The gate of export: what the file writes is what the trained network writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnxruntime
import torch

from builder.errors import ProofFailure
from builder.export.compare import Row, by_file, by_network
from builder.export.example import tensors
from builder.export.lines import Batch
from builder.export.side_data import Content
from builder.export.ties import Referee
from builder.generate import Generator, as_tensors
from builder.search.found import PAD_ID

LOGITS_TOLERANCE = 1e-4
"""Largest difference of a step's logits, against the largest of them where that is above 1."""
SCORES_TOLERANCE = 1e-4
"""Largest difference of the scores of an output, against its score where that is above 1."""
NEAR_TIE_SHARE = 0.005
"""The largest share of lines that may differ, all by near ties."""
VARIED_SHARE = 0.2
"""The share of outputs that must hold two different tokens."""
MAX_STEPS = 8
"""Steps whose logits are compared on each batch."""

Options = Mapping[str, int | float]


@dataclass
class Proof:
    """What was compared, and how it came out."""

    logits_difference: float = 0.0
    """The largest between PyTorch and ONNX Runtime, relative as `LOGITS_TOLERANCE` is."""
    scores_difference: float = 0.0
    """The largest of outputs that are equal, relative as `SCORES_TOLERANCE` is."""
    lines: int = 0
    equal: int = 0
    near_ties: int = 0
    varied: bool = False
    """False where all outputs were alike, so that equality shows little."""
    precision: dict[str, object] | None = None
    """How the file came out beside the one in float32; None for that one."""
    samples: list[dict[str, object]] = field(default_factory=list)
    """Random ids with the tokens and the scores that the file must give for them; those of the
    run's own lines too where the blueprint embeds them."""

    def verdict(self) -> None:
        """Refuse a file that differs by more than near ties, or by too many of them."""
        wrong = self.lines - self.equal - self.near_ties
        if wrong or self.near_ties > max(1, NEAR_TIE_SHARE * self.lines):
            raise ProofFailure(
                f"the exported file differs from the trained model on {wrong} of {self.lines} "
                f"lines, and on {self.near_ties} more by a near tie: it is not written"
            )
        if self.scores_difference > SCORES_TOLERANCE:
            raise ProofFailure(
                f"the scores differ by {self.scores_difference:.2g} between PyTorch and ONNX "
                f"Runtime; allowed: {SCORES_TOLERANCE}: the file is not written"
            )


@torch.no_grad()
def compare_steps(generator: Generator, step: Content, batches: Sequence[Batch]) -> float:
    """Run the step graph beside the network on the same states; return the largest difference.

    Raises:
        ProofFailure: The logits differ by more than `LOGITS_TOLERANCE`.
    """
    engine, worst = step.open(), 0.0
    for batch in batches:
        worst = max(worst, _compare_batch(generator, engine, batch))
    if worst > LOGITS_TOLERANCE:
        raise ProofFailure(
            f"the logits of a step differ by {worst:.2g} between PyTorch and ONNX Runtime; "
            f"allowed: {LOGITS_TOLERANCE}: the file is not written"
        )
    return worst


def _compare_batch(
    generator: Generator, engine: onnxruntime.InferenceSession, batch: Batch
) -> float:
    names = [value.name for value in engine.get_inputs()]
    decoding, worst = generator.decoding, 0.0
    asked = {**generator.options, **batch.asked}
    options, places = as_tensors(asked, batch.beginnings(generator), torch.device("cpu"))
    kept, _ = decoding.begin(batch.source_ids, options, places)
    context, carried = kept.context, kept.carried
    for _ in range(MAX_STEPS):
        given = tensors((carried, context, options))
        logits = engine.run(
            None, {name: value.numpy() for name, value in zip(names, given, strict=True)}
        )[-1]
        _, carried, expected = decoding.step(carried, context, options)
        worst = max(worst, logits_apart(logits, expected.numpy()))
        if not carried.state.alive.any():
            break
    return worst


def logits_apart(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Compare logits, which must be −inf at the same places and numbers everywhere else."""
    barred = np.isneginf(theirs)
    if not np.array_equal(barred, np.isneginf(ours)):
        return float("inf")
    ours, theirs = ours[~barred], theirs[~barred]
    scale = max(1.0, float(np.abs(theirs).max(initial=0.0)))
    apart = float(np.abs(ours - theirs).max(initial=0.0)) / scale
    return apart if np.isfinite(apart) else float("inf")


def compare_outputs(generator: Generator, file: Content, batches: Sequence[Batch]) -> Proof:
    """Run the finished file beside the network; every row of every batch is one line."""
    engine, referee, proof = file.open(), Referee(generator), Proof()
    outputs: list[list[int]] = []

    def run(batch: Batch) -> list[Row]:
        return by_file(engine, generator.options, batch)

    def expect(batch: Batch) -> list[Row]:
        return by_network(generator, batch)

    for batch in batches:
        for row, (left, right) in enumerate(zip(run(batch), expect(batch), strict=True)):
            proof.lines += 1
            outputs += [one.ids for one in right[:1]]
            if _same(left, right):
                proof.equal += 1
                proof.scores_difference = max(proof.scores_difference, _apart(left, right))
            else:
                proof.near_ties += referee.is_near_tie(batch, row, run, expect)
    proof.varied = varied(outputs)
    return proof


def _same(left: Row, right: Row) -> bool:
    return [(one.ids, one.ended) for one in left] == [(one.ids, one.ended) for one in right]


def _apart(left: Row, right: Row) -> float:
    """How far the scores of the same outputs are apart."""
    scores = [(one.score, other.score) for one, other in zip(left, right, strict=True)]
    return max((abs(ours - theirs) / max(1.0, abs(theirs)) for ours, theirs in scores), default=0.0)


def varied(outputs: Sequence[Sequence[int]]) -> bool:
    """Tell whether equality of these outputs shows anything: they differ, and change inside.

    Where none may be longer than a token, nothing can change inside.
    """
    different = len(set(map(tuple, outputs))) > 1
    if all(len(ids) <= 1 for ids in outputs):
        return different
    lively = sum(len(set(ids)) > 1 for ids in outputs)
    return different and lively >= VARIED_SHARE * len(outputs)


def samples(file: Content, options: Options, batches: Sequence[Batch]) -> list[dict[str, object]]:
    """Record what the file gives for the ids of `batches`, one entry for each row alone."""
    engine = file.open()
    entries: list[dict[str, object]] = []
    for batch in batches:
        for number, source in enumerate(batch.source_ids):
            real = source[source != PAD_ID]
            prefix = None if batch.prefix is None else batch.prefix[number : number + 1]
            (row,) = by_file(engine, options, Batch(real[None], batch.asked, prefix))
            entries.append(
                {
                    "source_ids": real.tolist(),
                    "options": batch.asked,
                    "prefix": None if prefix is None else prefix[0].tolist(),
                    "target_ids": [one.ids for one in row],
                    "scores": [one.score for one in row],
                }
            )
    return entries
