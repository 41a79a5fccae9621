"""The gate of export: what the file writes is what the trained network writes."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnxruntime
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from builder.blueprint.generation import Strategy
from builder.errors import ProofFailure
from builder.export.lines import Batch
from builder.export.trace import Step
from builder.generate import generate_ids, length_rule
from builder.nn.transformer import Transformer
from builder.runtime.session import open_session
from builder.search import greedy
from builder.search.limits import NO_LIMIT

LOGITS_TOLERANCE = 1e-4
"""Largest difference of a step's logits, against the largest of them where that is above 1."""
NEAR_TIE = 1e-4
"""Two tokens whose log-probabilities lie closer than this, in float64, may change places."""
NEAR_TIE_SHARE = 0.005
"""The largest share of lines that may differ, all by near ties."""
VARIED_SHARE = 0.2
"""The share of outputs that must hold two different tokens."""
MAX_STEPS = 8
"""Steps whose logits are compared on each batch."""


@dataclass
class Proof:
    """What was compared, and how it came out."""

    logits_difference: float = 0.0
    """The largest between PyTorch and ONNX Runtime, relative as `LOGITS_TOLERANCE` is."""
    lines: int = 0
    equal: int = 0
    near_ties: int = 0
    varied: bool = False
    """False where all outputs were alike, so that equality shows little."""
    samples: list[dict[str, object]] = field(default_factory=list)
    """Random ids with the tokens and the score that the file must give for them."""

    def verdict(self) -> None:
        """Refuse a file that differs by more than near ties, or by too many of them."""
        wrong = self.lines - self.equal - self.near_ties
        if wrong or self.near_ties > max(1, NEAR_TIE_SHARE * self.lines):
            raise ProofFailure(
                f"the exported file differs from the trained model on {wrong} of {self.lines} "
                f"lines, and on {self.near_ties} more by a near tie: it is not written"
            )


@torch.no_grad()
def compare_steps(
    model: Transformer, strategy: Strategy, step: bytes, batches: Sequence[Batch]
) -> float:
    """Run the step graph beside the network on the same states; return the largest difference.

    Raises:
        ProofFailure: The logits differ by more than `LOGITS_TOLERANCE`.
    """
    engine, module = open_session(step), Step(model)
    names = [value.name for value in engine.get_inputs()]
    worst = 0.0
    for source_ids, _ in batches:
        memory = model.remember(source_ids)
        limits = length_rule(strategy, model).limits(memory.real.sum(dim=1), torch.tensor(NO_LIMIT))
        state, caches = greedy.start(limits), model.empty_caches(source_ids)
        for _ in range(MAX_STEPS):
            given = tree_leaves((state, caches, memory, limits))
            logits = engine.run(
                None, {name: value.numpy() for name, value in zip(names, given, strict=True)}
            )[-1]
            more, state, caches, expected = module(state, caches, memory, limits)
            worst = max(worst, _difference(logits, expected.numpy()))
            if not more:
                break
    if worst > LOGITS_TOLERANCE:
        raise ProofFailure(
            f"the logits of a step differ by {worst:.2g} between PyTorch and ONNX Runtime; "
            f"allowed: {LOGITS_TOLERANCE}: the file is not written"
        )
    return worst


def _difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Compare finite logits; both must be −inf at the same places."""
    finite = np.isfinite(theirs)
    if not np.array_equal(finite, np.isfinite(ours)):
        return float("inf")
    scale = max(1.0, float(np.abs(theirs[finite]).max()))
    return float(np.abs(ours[finite] - theirs[finite]).max()) / scale


def compare_outputs(
    model: Transformer, strategy: Strategy, file: bytes, batches: Sequence[Batch]
) -> Proof:
    """Run the finished file beside the network; every row of every batch is one line."""
    engine, exact = open_session(file), None
    proof = Proof()
    outputs: list[list[int]] = []
    for source_ids, max_length in batches:
        ours = _run(engine, source_ids, max_length)
        theirs = generate_ids(model, source_ids, strategy=strategy, max_length=max_length)
        for row, (left, right) in enumerate(_rows(ours, theirs)):
            proof.lines += 1
            outputs.append(right)
            if left == right:
                proof.equal += 1
                continue
            exact = exact or copy.deepcopy(model).double()
            proof.near_ties += is_near_tie(exact, source_ids[row], left, right)
    proof.varied = varied(outputs)
    return proof


def varied(outputs: Sequence[Sequence[int]]) -> bool:
    """Tell whether equality of these outputs shows anything: they differ, and change inside.

    Where none may be longer than a token, nothing can change inside.
    """
    different = len(set(map(tuple, outputs))) > 1
    if all(len(ids) <= 1 for ids in outputs):
        return different
    lively = sum(len(set(ids)) > 1 for ids in outputs)
    return different and lively >= VARIED_SHARE * len(outputs)


def _run(
    engine: onnxruntime.InferenceSession, source_ids: Tensor, max_length: int
) -> list[np.ndarray]:
    inputs = {"source_ids": source_ids.numpy(), "max_length": np.array(max_length)}
    return engine.run(["target_ids", "scores", "lengths", "ended"], inputs)


def _rows(ours: list[np.ndarray], theirs: greedy.Found) -> Iterator[tuple[list[int], list[int]]]:
    """Give the tokens of each row, those of the file and those of the network."""
    for row, length in enumerate(theirs.lengths[:, 0].tolist()):
        yield (
            ours[0][row, 0, : ours[2][row, 0]].tolist(),
            theirs.target_ids[row, 0, :length].tolist(),
        )


@torch.no_grad()
def is_near_tie(exact: Transformer, source_ids: Tensor, left: list[int], right: list[int]) -> bool:
    """Tell whether two outputs part at a step where float64 finds both tokens about as likely."""
    place = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), None)
    if place is None:
        return False
    prefix = torch.tensor([[greedy.BOS_ID, *left[:place]]])
    logits = exact(source_ids[source_ids != greedy.PAD_ID][None], prefix)[0, -1]
    return abs(float(logits[left[place]] - logits[right[place]])) < NEAR_TIE


def samples(file: bytes, batches: Sequence[Batch]) -> list[dict[str, object]]:
    """Record what the file gives for the random ids of `batches`, one entry for each row."""
    engine = open_session(file)
    entries: list[dict[str, object]] = []
    for source_ids, max_length in batches:
        ids, scores, lengths, _ = _run(engine, source_ids, max_length)
        entries += [
            {
                "source_ids": source[source != greedy.PAD_ID].tolist(),
                "max_length": max_length,
                "target_ids": ids[row, 0, : lengths[row, 0]].tolist(),
                "score": float(scores[row, 0]),
            }
            for row, source in enumerate(source_ids)
        ]
    return entries
