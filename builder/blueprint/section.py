"""The base of every section of a blueprint, and the bounded numbers that sections are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    WrapSerializer,
    model_validator,
)


class Section(BaseModel):
    """Base of every section: typos are errors, values are never coerced or changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class Uniform(Section):
    """A section for which one number may stand: the value of every field."""

    @model_validator(mode="before")
    @classmethod
    def spread(cls, value: object) -> object:
        """Write the number out under every key."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            return dict.fromkeys(cls.model_fields, value)
        return value


def whole(value: object) -> object:
    """Take a whole number as an integer however it is written: `4000`, `4e3` or `4000.0`."""
    if isinstance(value, bool):
        raise ValueError("a truth value is no number")
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def kind_of(value: object) -> object:
    """Let a bare word stand for a union member: `rotary` for `{kind: rotary}`."""
    return {"kind": value} if isinstance(value, str) else value


def listed(value: object) -> object:
    """Let one value stand for a list of one."""
    return value if isinstance(value, list | tuple) else [value]


def unlisted(values: Any, plain: SerializerFunctionWrapHandler) -> Any:
    """Write a list of one as the value alone."""
    written = plain(values)
    return written[0] if len(written) == 1 else written


Word = BeforeValidator(kind_of)

T = TypeVar("T")
ByLayer = Annotated[
    tuple[T, ...],
    BeforeValidator(listed),
    WrapSerializer(unlisted),
    Field(strict=False, min_length=1, max_length=1_000),
]
"""One value for all layers, or a list that is cycled over them."""


def at_layer(values: Sequence[T], layer: int) -> T:
    """The value of a layer, counted from 0."""
    return values[layer % len(values)]


Natural = Annotated[int, BeforeValidator(whole), Field(ge=0, le=2**31 - 1)]
"""A whole number from 0."""
Count = Annotated[int, BeforeValidator(whole), Field(ge=1, le=2**31 - 1)]
"""A whole number from 1."""
Length = Annotated[int, BeforeValidator(whole), Field(ge=2, le=2**31 - 1)]
"""The length of a sequence in tokens, EOS counted: one token and EOS, or more."""
Width = Annotated[int, BeforeValidator(whole), Field(ge=1, le=65_536)]
"""The size of a vector."""
Depth = Annotated[int, BeforeValidator(whole), Field(ge=1, le=1_000)]
"""A number of layers or heads."""
VocabularySize = Annotated[int, BeforeValidator(whole), Field(ge=5, le=10_000_000)]
"""Rows of an embedding table, the four control ids included."""
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False, le=1e12)]
"""A real number above 0."""
Share = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]
"""A real number from 0 up to, but not, 1."""
