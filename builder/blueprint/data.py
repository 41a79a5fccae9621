"""The `data` section: where pairs of lines come from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from builder.blueprint.section import Count, Section, Uniform, whole

FilePath = Annotated[str, Field(min_length=1, max_length=4096)]
Column = Annotated[
    Annotated[int, Field(ge=1, le=10_000)] | Annotated[str, Field(min_length=1)],
    BeforeValidator(whole),
]


class ParallelFiles(Section):
    """Two text files whose lines belong together."""

    source: FilePath
    target: FilePath


class Columns(Section):
    """Columns by name (the first line is a header) or by number (from 1, no header)."""

    source: Column
    target: Column


class Table(Section):
    """A TSV file with one pair on each line; further columns are ignored."""

    path: FilePath
    columns: Columns = Columns(source=1, target=2)


class BuiltIn(Section):
    """A set that Transom makes itself."""

    builtin: Literal["dates"]


def form(value: object) -> str:
    """The form of a data source, told by its keys."""
    keys = value if isinstance(value, dict) else getattr(value, "model_fields_set", ())
    if "builtin" in keys:
        return "builtin"
    return "table" if "path" in keys or "columns" in keys else "files"


PairSource = Annotated[
    Annotated[ParallelFiles, Tag("files")]
    | Annotated[Table, Tag("table")]
    | Annotated[BuiltIn, Tag("builtin")],
    Discriminator(form),
]


class Lengths(Uniform):
    """The longest sequences trained on, in tokens, EOS counted; longer pairs are left out."""

    source: Count = 256
    target: Count = 256


class Data(Section):
    """What the model learns from and is measured on."""

    train: PairSource
    valid: PairSource
    test: PairSource | None = None
    max_length: Lengths = Lengths()


class WrittenData(Data):
    """The data as a user writes it: a built-in set stands for `train`, `valid` and `test`."""

    builtin: Literal["dates"] | None = None
