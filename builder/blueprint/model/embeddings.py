"""Token embeddings and the output projection."""

from __future__ import annotations

from typing import Literal

from builder.blueprint.section import Positive, Section, Uniform, VocabularySize


class Output(Section):
    """The projection of the decoder's states to the vocabulary."""

    scale: Positive = 1.0
    """Factor of the states before the projection (d_model^-0.5 in T5 with tied embeddings)."""
    bias: bool = False
    """A trained bias for each token (Marian)."""


class Embeddings(Section):
    """Token embeddings and the output projection (Vaswani et al., 2017, section 3.4)."""

    tie: Literal["none", "source_target", "source_output", "target_output", "all"] = "all"
    """Which of the three matrices are one."""
    scale: bool = True
    """Multiply embeddings by the square root of d_model."""
    norm: bool = False
    """Norm the sum of embeddings and positions, with the stack's kind of norm (BART)."""
    output: Output = Output()


class Vocabularies(Uniform):
    """Rows of the two embedding tables, the four control ids included."""

    source: VocabularySize
    """Rows of the source embedding."""
    target: VocabularySize
    """Rows of the target embedding and of the output projection."""
