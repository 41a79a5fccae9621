"""Conflicts within training, and with the data that it reads."""

from __future__ import annotations

from collections.abc import Iterator

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.checks.finding import Finding, at


def training_ends(blueprint: Blueprint) -> Iterator[Finding]:
    """Something says when training is over."""
    training = blueprint.training
    if training is not None and training.steps is None and training.minutes is None:
        message = "training has no end; give `steps`, `minutes`, or both"
        yield Finding((at("training.steps"), at("training.minutes")), message)


def longest_pair_fits(blueprint: Blueprint) -> Iterator[Finding]:
    """The longest pair that the data section lets in fits into an update, and into each pass."""
    training, data = blueprint.training, blueprint.data
    if training is None or data is None:
        return
    yield from _holds("batch_tokens", training.batch_tokens, "target", data.max_length.target)
    if training.microbatch_tokens is not None:
        for side in ("source", "target"):
            longest = getattr(data.max_length, side)
            yield from _holds("microbatch_tokens", training.microbatch_tokens, side, longest)


def _holds(key: str, tokens: int, side: str, longest: int) -> Iterator[Finding]:
    if tokens < longest:
        message = (
            f"{key}={tokens:,} cannot hold the longest {side}, data.max_length.{side}="
            f"{longest:,} tokens; nearest: {key}={longest:,}"
        )
        if tokens > 1:
            message += f" or data.max_length.{side}={tokens:,}"
        yield Finding((at(f"training.{key}"), at(f"data.max_length.{side}")), message)


def averaged_checkpoints_are_kept(blueprint: Blueprint) -> Iterator[Finding]:
    """Only a checkpoint that is still there can be averaged."""
    if blueprint.training is None:
        return
    checkpoint = blueprint.training.checkpoint
    if checkpoint.average > checkpoint.keep:
        message = (
            f"average={checkpoint.average:,} needs as many checkpoints, but "
            f"keep={checkpoint.keep:,} are kept; nearest: keep={checkpoint.average:,} or "
            f"average={checkpoint.keep:,}"
        )
        paths = ("training.checkpoint.average", "training.checkpoint.keep")
        yield Finding(tuple(map(at, paths)), message)


TRAINING_CHECKS = (
    training_ends,
    longest_pair_fits,
    averaged_checkpoints_are_kept,
)
