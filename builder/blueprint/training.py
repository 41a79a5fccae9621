"""The `training` section: how the weights are learned."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from builder.blueprint.section import Count, Depth, Natural, Positive, Section, Share, Word


class Adam(Section):
    """Adam (Kingma and Ba, 2015), constants as in Vaswani et al., 2017, section 5.3."""

    kind: Literal["adam"]
    betas: Annotated[tuple[Share, Share], Field(strict=False)] = (0.9, 0.98)
    eps: Positive = 1e-9


Optimizer = Annotated[Adam, Word]


class Noam(Section):
    """factor · d_model^-0.5 · min(step^-0.5, step · warmup^-1.5) (the same section)."""

    kind: Literal["noam"]
    warmup: Count = 4000
    """Updates over which the rate rises."""
    factor: Positive = 1.0


class InverseSqrt(Section):
    """A linear rise to `learning_rate` over `warmup` updates, then a fall with step^-0.5."""

    kind: Literal["inverse_sqrt"]
    learning_rate: Positive
    warmup: Count = 4000


class Constant(Section):
    """A linear rise to `learning_rate` over `warmup` updates, then that rate."""

    kind: Literal["constant"]
    learning_rate: Positive
    warmup: Natural = 0


Schedule = Annotated[Noam | InverseSqrt | Constant, Field(discriminator="kind"), Word]

Metric = Literal["loss", "exact_match", "token_error", "char_error", "bleu", "chrf"]


class Validate(Section):
    """How often the model is measured on validation pairs, and when that ends the training."""

    every: Count = 1000
    """Updates between two validations."""
    metric: Metric = "loss"
    patience: Count | None = None
    """Validations in a row without a better value that end the training; never unless given."""
    pairs: Count = 2000
    """At most so many validation pairs are measured."""


class Checkpoint(Section):
    """How often everything that resuming needs is saved, and what becomes of it."""

    every: Count = 1000
    """Updates between two checkpoints."""
    keep: Count = 5
    """Newest checkpoints kept."""
    average: Natural = 0
    """Newest checkpoints averaged at the end (Vaswani et al., 2017, section 6.1); 0 for none."""


class Training(Section):
    """The loop; it ends at the first of its limits."""

    batch_tokens: Count = 4096
    """Target tokens of one update."""
    microbatch_tokens: Count | None = None
    """Target tokens of one forward pass; the whole batch unless given."""
    steps: Count | None = None
    """Updates."""
    minutes: Positive | None = None
    """Time spent training, over all resumes."""
    optimizer: Optimizer = Adam(kind="adam")
    schedule: Schedule = Noam(kind="noam")
    label_smoothing: Share = 0.1
    clip: Positive | None = None
    """Largest norm of the gradient; unlimited unless given."""
    validate_: Annotated[Validate, Field(alias="validate")] = Validate()
    checkpoint: Checkpoint = Checkpoint()
    seed: Natural = 1
    threads: Literal["auto"] | Depth = "auto"
    """Processor threads; `auto` takes one for each physical core."""
