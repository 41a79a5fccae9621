"""What a training may take for granted of its blueprint, and what a resume may change."""

from __future__ import annotations

from typing import Any, NamedTuple

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.data import Data
from builder.blueprint.model import Vocabularies
from builder.blueprint.problems import missing_section
from builder.blueprint.section import Section
from builder.blueprint.tokenizer import Tokenizer
from builder.blueprint.training import Training
from builder.dataset import data_paths
from builder.errors import BlueprintError, Problem, RunError, printable
from builder.training.corpus import Tokenizers

FREE = (
    "name",
    "description",
    "data.test",
    "export",
    "training.steps",
    "training.minutes",
    "training.microbatch_tokens",
    "training.threads",
    "training.validate.every",
    "training.validate.patience",
    "training.checkpoint",
)
"""Keys that a resume may change: none makes the numbers before it untrue. `generation` joins them
where the metric is the loss, for which nothing needs to be written."""


class Sections(NamedTuple):
    """The sections that training needs and that a blueprint may lack."""

    tokenizer: Tokenizer
    data: Data
    training: Training


def needed(blueprint: Blueprint, *, file: str = "") -> Sections:
    """Take out the sections that training needs; messages name `file`, which holds the blueprint.

    Raises:
        BlueprintError: Sections are missing.
    """
    tokenizer, data, training = blueprint.tokenizer, blueprint.data, blueprint.training
    if tokenizer is None or data is None or training is None:
        missing = [key for key in Sections._fields if getattr(blueprint, key) is None]
        raise BlueprintError([missing_section(key, file) for key in missing])
    return Sections(tokenizer, data, training)


def with_vocabulary(blueprint: Blueprint, tokenizers: Tokenizers) -> Blueprint:
    """Fill in the vocabulary sizes.

    Raises:
        BlueprintError: The blueprint states others.
    """
    model = blueprint.model
    sizes = Vocabularies(source=tokenizers[0].vocab_size, target=tokenizers[1].vocab_size)
    problems = []
    for side, size in sizes:
        stated = getattr(model.vocab_size, side, size)
        if stated != size:
            message = f"{stated} rows, but the tokenizer has {size}"
            problems.append(Problem(message, f"model.vocab_size.{side}"))
    if problems:
        raise BlueprintError(problems)
    return blueprint.model_copy(update={"model": model.model_copy(update={"vocab_size": sizes})})


def continued(stored: Blueprint, given: Blueprint) -> Blueprint:
    """Return `given` as the blueprint of the run that was begun with `stored`.

    Paths of data may differ: that the pairs are the same is checked when they have been read.

    Raises:
        RunError: They differ in what the weights already depend on; all such keys are listed.
    """
    if given.model.vocab_size is None:
        sizes = {"vocab_size": stored.model.vocab_size}
        given = given.model_copy(update={"model": given.model.model_copy(update=sizes)})
    before, now = _binding(stored), _binding(given)
    differing = [
        f"{key}: {_shown(before, key)} in the run, {_shown(now, key)} now"
        for key in sorted(before.keys() | now.keys())
        if before.get(key) != now.get(key)
    ]
    if differing:
        raise RunError("\n".join(["the run cannot go on with another blueprint:", *differing]))
    return given


def _shown(values: dict[str, Any], key: str) -> str:
    value = values.get(key)
    return "nothing" if value is None else printable(repr(value))


def _binding(blueprint: Blueprint) -> dict[str, Any]:
    """The values that a resume may not change, by key."""
    _, data, training = needed(blueprint)
    free = (*FREE, "generation") if training.validate_.metric == "loss" else FREE
    paths = data_paths(data, "train") | data_paths(data, "valid")
    return {
        key: "a file" if key in paths else value
        for key, value in _leaves(blueprint, "").items()
        if not any(key == each or key.startswith(f"{each}.") for each in free)
    }


def _leaves(section: Section, prefix: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, field in type(section).model_fields.items():
        key = f"{prefix}{field.alias or name}"
        value = getattr(section, name)
        values |= _leaves(value, f"{key}.") if isinstance(value, Section) else {key: value}
    return values
