"""The `training` section: how the weights are learned."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from builder.blueprint.section import Count, Depth, Natural, Positive, Section, Share, Word


class Adam(Section):
    """Adam (Kingma and Ba, 2015), constants as in Vaswani et al., 2017, section 5.3."""

    kind: Literal["adam"]
    betas: Annotated[tuple[Share, Share], Field(strict=False)] = (0.9, 0.98)
    """How slowly the averages of the gradient and of its square forget."""
    eps: Positive = 1e-9
    """Added to the root of the averaged square."""


Optimizer = Annotated[Adam, Word]


class Noam(Section):
    """factor · d_model^-0.5 · min(step^-0.5, step · warmup^-1.5) (the same section)."""

    kind: Literal["noam"]
    warmup: Count = 4000
    """Updates over which the rate rises."""
    factor: Positive = 1.0
    """Multiplies the rate."""


class InverseSqrt(Section):
    """A linear rise to `learning_rate` over `warmup` updates, then a fall with step^-0.5."""

    kind: Literal["inverse_sqrt"]
    learning_rate: Positive
    """The highest rate, reached after `warmup` updates."""
    warmup: Count = 4000
    """Updates over which the rate rises."""


class Constant(Section):
    """A linear rise to `learning_rate` over `warmup` updates, then that rate."""

    kind: Literal["constant"]
    learning_rate: Positive
    """The rate after `warmup` updates."""
    warmup: Natural = 0
    """Updates over which the rate rises."""


Schedule = Annotated[Noam | InverseSqrt | Constant, Field(discriminator="kind"), Word]

Metric = Literal["loss", "exact_match", "token_error", "char_error", "bleu", "chrf"]


class Validate(Section):
    """How often the model is measured on validation pairs, and when that ends the training."""

    every: Count = 1000
    """Updates between two validations."""
    metric: Metric = "loss"
    """What decides which weights are the best."""
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


LONGER_SIDE = 4
"""Times `batch_tokens`: what one forward pass may read of either side by default."""


class Training(Section):
    """The loop; it ends at the first of its limits."""

    batch_tokens: Count = 4096
    """Target tokens of one update."""
    microbatch_tokens: Count | None = None
    """Positions of either side, padding counted, in one forward pass; else 4 × batch_tokens."""
    steps: Count | None = None
    """Updates."""
    minutes: Positive | None = None
    """Time spent training, over all resumes."""
    optimizer: Optimizer = Adam(kind="adam")
    """How gradients change the weights."""
    schedule: Schedule = Noam(kind="noam")
    """The learning rate of each update."""
    label_smoothing: Share = 0.1
    """Share of the probability that is spread over all tokens (the same paper, section 5.4)."""
    clip: Positive | None = None
    """Largest norm of the gradient; unlimited unless given."""
    validate_: Annotated[Validate, Field(alias="validate")] = Validate()
    checkpoint: Checkpoint = Checkpoint()
    seed: Natural = 1
    """Where every random draw starts from."""
    threads: Literal["auto"] | Depth = "auto"
    """Processor threads; `auto` takes one for each physical core."""

    @property
    def forward_positions(self) -> int:
        """Positions of either side, padding counted, that one forward pass may read.

        By default only batches whose sources are much longer than their targets are cut.
        """
        return self.microbatch_tokens or LONGER_SIDE * self.batch_tokens
