"""The whole blueprint: one file, one experiment."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from builder.blueprint.data import Data, FilePath, WrittenData
from builder.blueprint.export import Export
from builder.blueprint.generation import Greedy, Strategy
from builder.blueprint.model import Model, WrittenModel
from builder.blueprint.section import Section, whole
from builder.blueprint.tokenizer import Tokenizer, WrittenTokenizer
from builder.blueprint.training import Training

Name = Annotated[str, Field(min_length=1, max_length=100)]


class Blueprint(Section):
    """An experiment, fully resolved: every default explicit, every value in its one place."""

    transom: Annotated[Literal[1], BeforeValidator(whole)]
    """Version of the format."""
    name: Name
    """Names the run and the exported file; the file's stem unless given."""
    description: str = ""
    """A line or more about the experiment, for people."""
    model: Model
    tokenizer: Tokenizer | None = None
    data: Data | None = None
    training: Training | None = None
    generation: Strategy = Greedy(kind="greedy")
    """How the trained model writes, in PyTorch and in the exported file alike."""
    export: Export = Export()


class WrittenBlueprint(Blueprint):
    """An experiment as a user writes it."""

    extends: FilePath | None = None
    """The blueprint that this one changes: a bundled name, or a path relative to this file."""
    model: WrittenModel
    tokenizer: WrittenTokenizer | None = None
    data: WrittenData | None = None
