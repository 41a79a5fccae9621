"""The `data` section: where pairs of lines come from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from builder.blueprint.section import Length, Section, Uniform, whole

SPLITS = ("train", "valid", "test")
"""The parts of the data, each from a source of its own."""

FilePath = Annotated[str, Field(min_length=1, max_length=4096)]
Column = Annotated[
    Annotated[int, Field(ge=1, le=10_000)] | Annotated[str, Field(min_length=1)],
    BeforeValidator(whole),
]


class ParallelFiles(Section):
    """Two text files whose lines belong together."""

    source: FilePath
    """The file of source lines."""
    target: FilePath
    """The file of target lines, in the same order."""


class Columns(Section):
    """Columns by name (the first line is a header) or by number (from 1, no header)."""

    source: Column
    """The source column."""
    target: Column
    """The target column."""


class Table(Section):
    """A TSV file with one pair on each line; further columns are ignored."""

    path: FilePath
    """The file; relative paths start from the blueprint's folder."""
    columns: Columns = Columns(source=1, target=2)


class BuiltIn(Section):
    """A set that Transom makes itself."""

    builtin: Literal["dates"]
    """Its name."""


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

    source: Length = 256
    """The longest source, in tokens, EOS counted."""
    target: Length = 256
    """The longest target, in tokens, EOS counted."""


class Data(Section):
    """What the model learns from and is measured on."""

    train: PairSource
    """Pairs to learn from."""
    valid: PairSource
    """Pairs that tell which weights are the best; not among those of `train`."""
    test: PairSource | None = None
    """Pairs that `evaluate` scores on."""
    max_length: Lengths = Lengths()


class WrittenData(Data):
    """The data as a user writes it: a built-in set stands for each split that is not written."""

    builtin: Literal["dates"] | None = None
    """A set that Transom makes itself, for `train`, `valid` and `test`."""
