"""A package into the proof that it still does what it did when it was exported."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from builder.errors import BuilderError, DamageError, PackageError, ProofFailure, printable
from builder.runtime.options import Options, complete
from builder.runtime.package import Package
from builder.runtime.search import Found, Row, check_ids

SCORES_TOLERANCE = 1e-4
"""Largest difference of the scores of an output, against its score where that is above 1."""

UNREADABLE = (
    AttributeError,
    KeyError,
    TypeError,
    ValueError,
    OverflowError,
    RecursionError,
    BuilderError,
)
"""What a proof that export did not write ends in."""


@dataclass(frozen=True)
class Sample:
    """Ids with what the file gave for them at export."""

    row: Row
    options: Options
    target_ids: list[list[int]]
    scores: list[float]


@dataclass(frozen=True)
class Verification:
    """How a repetition of a file's own proof came out."""

    samples: int
    scores_difference: float
    """The largest of outputs whose tokens are equal, relative as `SCORES_TOLERANCE` is."""
    differences: list[str]
    """What differs, the sample first."""
    export: dict[str, object]
    """What was compared with PyTorch when the file was exported, as the file tells it."""


def verify(path: Path, *, threads: int | None = None) -> Verification:
    """Check the digest of a file, and that it writes what its proof says, from the file alone.

    Raises:
        ProofFailure: The content is not what the digest was made of.
        PackageError: It is no package, or holds no proof that can be read.
    """
    try:
        package = Package.load(path, threads=threads)
    except DamageError as error:
        raise ProofFailure(str(error)) from None
    told, samples = _read(package)
    worst, differences = 0.0, []
    for number, sample in enumerate(samples, 1):
        (found,) = package.graph.search([sample.row], sample.options, batch_tokens=1)
        differences += [f"sample {number}{text}" for text in _differences(sample, found)]
        if _tokens(found) == sample.target_ids:
            worst = max([worst, *_apart(sample, found)])
    return Verification(len(samples), worst, differences, told)


def _differences(sample: Sample, found: Sequence[Found]) -> Iterator[str]:
    """What `found` has otherwise than the sample; each begins after the name of the sample."""
    if len(found) != len(sample.target_ids):
        yield f": {len(found)} outputs, at export {len(sample.target_ids)}"
        return
    for number, (one, ids) in enumerate(zip(found, sample.target_ids, strict=True), 1):
        if one.ids != ids:
            yield f", output {number}: tokens {one.ids}, at export {ids}"
    if _tokens(found) == sample.target_ids:
        for number, (apart, one) in enumerate(zip(_apart(sample, found), found, strict=True), 1):
            if not apart <= SCORES_TOLERANCE:  # no number is no small difference
                expected = sample.scores[number - 1]
                yield f", output {number}: score {one.score:.6g}, at export {expected:.6g}"


def _tokens(found: Sequence[Found]) -> list[list[int]]:
    return [one.ids for one in found]


def _apart(sample: Sample, found: Sequence[Found]) -> list[float]:
    """How far the scores are apart, each relative to the one at export where that is above 1."""
    pairs = zip(sample.scores, found, strict=True)
    return [abs(one.score - score) / max(1.0, abs(score)) for score, one in pairs]


def _read(package: Package) -> tuple[dict[str, object], list[Sample]]:
    """What export compared, and the samples.

    Raises:
        PackageError: The proof is damaged, or has no samples.
    """
    place = printable(package.path.absolute())
    try:
        told = dict(json.loads(package.metadata.proof))
        samples = [_sample(package, entry) for entry in told.pop("samples")]
    except UNREADABLE as error:
        reason = printable(f"{type(error).__name__}: {error}")
        raise PackageError(f"{place}: damaged proof: {reason}") from None
    if not samples:
        raise PackageError(f"{place}: damaged proof: no samples")
    return told, samples


def _sample(package: Package, entry: Any) -> Sample:
    ids = check_ids(entry["source_ids"], package.metadata, "source_ids")
    prefix = [int(i) for i in entry["prefix"] or ()]
    package.check_prefixes([prefix], sources=1)
    sample = Sample(
        Row(ids, "a sample", prefix),
        complete(package.metadata.options, entry["options"]),
        [[int(i) for i in output] for output in entry["target_ids"]],
        [float(score) for score in entry["scores"]],
    )
    if len(sample.scores) != len(sample.target_ids) or not all(map(isfinite, sample.scores)):
        raise ValueError("a score for each output is needed")
    return sample
