"""The whole blueprint: one file, one experiment."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from builder.blueprint.data import Data, WrittenData
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
    description: str = ""
    model: Model
    tokenizer: Tokenizer | None = None
    data: Data | None = None
    training: Training | None = None
    generation: Strategy = Greedy(kind="greedy")
    export: Export = Export()


class WrittenBlueprint(Blueprint):
    """An experiment as a user writes it."""

    model: WrittenModel
    tokenizer: WrittenTokenizer | None = None
    data: WrittenData | None = None
