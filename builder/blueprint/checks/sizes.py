"""Conflicts between the matrices of a model, and sizes beyond all reason."""

from __future__ import annotations

from collections.abc import Iterator

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.checks.attention import attentions_of
from builder.blueprint.checks.finding import Finding, at
from builder.blueprint.plan import make_plan

PARAMETER_LIMIT = 100_000_000_000
"""More than any machine that this tool is meant for can train."""

UNTIED = "write `model.embeddings.tie: target_output`, or `none`"
"""What two vocabularies allow."""
ACROSS = ("source_target", "source_output", "all")
"""The ties that need one vocabulary on both sides."""


def tied_vocabularies_are_one(blueprint: Blueprint) -> Iterator[Finding]:
    """Matrices that are shared across the sides have the same rows."""
    tie, sizes = blueprint.model.embeddings.tie, blueprint.model.vocab_size
    if tie in ACROSS and sizes is not None and sizes.source != sizes.target:
        message = (
            f"`tie: {tie}` needs one vocabulary, but source has {sizes.source:,} rows and target "
            f"{sizes.target:,}; {UNTIED}"
        )
        paths = ("embeddings.tie", "vocab_size.source", "vocab_size.target")
        yield Finding(tuple(at(f"model.{path}") for path in paths), message)


def tied_tokenizers_are_shared(blueprint: Blueprint) -> Iterator[Finding]:
    """Matrices that are shared across the sides need a tokenizer that is, too."""
    tie, tokenizer = blueprint.model.embeddings.tie, blueprint.tokenizer
    if tokenizer is not None and not tokenizer.shared and tie in ACROSS:
        message = (
            f"`tie: {tie}` needs one vocabulary, but the tokenizers of source and target are not "
            f"shared; {UNTIED}"
        )
        if tokenizer.source == tokenizer.target:
            message += "; these are alike and can be one: write `tokenizer.shared: true`"
        inputs = (at("model.embeddings.tie"), at("tokenizer.shared"), at("tokenizer.source"))
        yield Finding((*inputs, at("tokenizer.target")), message)


def size_is_sane(blueprint: Blueprint) -> Iterator[Finding]:
    """A slip of three zeros is told before anything is allocated."""
    plan = make_plan(blueprint)
    if plan.parameters.fixed > PARAMETER_LIMIT:
        message = f"this model would have {plan.parameters} parameters; at most {PARAMETER_LIMIT:,}"
        paths = ["model.d_model", "model.vocab_size.source", "model.vocab_size.target"]
        for side in ("encoder", "decoder"):
            paths += [f"model.{side}.layers", f"model.{side}.feed_forward.d_ff"]
            paths += [f"model.{side}.positions.max_length"]
        for path, _ in attentions_of(blueprint.model):
            paths += [f"{path}.{key}" for key in ("heads", "d_k", "d_v")]
        yield Finding(tuple(map(at, paths)), message)


SIZE_CHECKS = (tied_vocabularies_are_one, tied_tokenizers_are_shared, size_is_sane)
