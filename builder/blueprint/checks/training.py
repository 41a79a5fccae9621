"""Conflicts within training and generation."""

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


def microbatch_fits_batch(blueprint: Blueprint) -> Iterator[Finding]:
    """A part of an update is not larger than the update."""
    training = blueprint.training
    if training is None or training.microbatch_tokens is None:
        return
    if training.microbatch_tokens > training.batch_tokens:
        message = (
            f"microbatch_tokens={training.microbatch_tokens:,} is more than the whole update, "
            f"batch_tokens={training.batch_tokens:,}"
        )
        inputs = (at("training.microbatch_tokens"), at("training.batch_tokens"))
        yield Finding(inputs, message)


def longest_pair_fits(blueprint: Blueprint) -> Iterator[Finding]:
    """The longest target that the data section lets in fits into one forward pass."""
    training, data = blueprint.training, blueprint.data
    if training is None or data is None:
        return
    longest = data.max_length.target
    for key in ("batch_tokens", "microbatch_tokens"):
        tokens = getattr(training, key)
        if tokens is not None and tokens < longest:
            message = (
                f"{key}={tokens:,} cannot hold the longest target, "
                f"data.max_length.target={longest:,} tokens"
            )
            yield Finding((at(f"training.{key}"), at("data.max_length.target")), message)


def averaged_checkpoints_are_kept(blueprint: Blueprint) -> Iterator[Finding]:
    """Only a checkpoint that is still there can be averaged."""
    if blueprint.training is None:
        return
    checkpoint = blueprint.training.checkpoint
    if checkpoint.average > checkpoint.keep:
        message = (
            f"average={checkpoint.average:,} needs as many checkpoints, but "
            f"keep={checkpoint.keep:,} are kept"
        )
        paths = ("training.checkpoint.average", "training.checkpoint.keep")
        yield Finding(tuple(map(at, paths)), message)


def output_may_have_length(blueprint: Blueprint) -> Iterator[Finding]:
    """The limit leaves room for one token at least."""
    limit = blueprint.generation.max_length
    if limit.ratio == 0 and limit.plus == 0:
        paths = ("generation.max_length.ratio", "generation.max_length.plus")
        yield Finding(
            tuple(map(at, paths)), "ratio and plus are both 0: no output could be written"
        )


TRAINING_CHECKS = (
    training_ends,
    microbatch_fits_batch,
    longest_pair_fits,
    averaged_checkpoints_are_kept,
    output_may_have_length,
)
