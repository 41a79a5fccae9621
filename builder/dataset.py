"""The `data` section into pairs of lines: the one file that knows both blueprint and data."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, assert_never

from builder.blueprint.data import BuiltIn, Data, PairSource, ParallelFiles, Table
from builder.data.pairs import Pairs
from builder.errors import DataError, printable

Part = Literal["train", "valid", "test"]


def read_pairs(data: Data, part: Part) -> Pairs:
    """Read one part of the data; of `test` there may be none.

    Raises:
        DataError: A file is missing, unreadable, or does not hold pairs; or the part is not given.
    """
    for key, path in data_paths(data, part).items():
        if not Path(path).exists():
            raise DataError(
                f"{key}: no such file: {printable(Path(path).absolute())}; "
                f"elsewhere? `--set {key}=FILE`"
            )
    match _source(data, part):
        case ParallelFiles(source=source, target=target):
            from builder.data.files import read_parallel

            return read_parallel(Path(source), Path(target), key=f"data.{part}")
        case Table(path=path, columns=columns):
            from builder.data.table import read_table

            return read_table(Path(path), columns.source, columns.target, key=f"data.{part}")
        case BuiltIn():
            from builder.data.dates import make_dates

            return make_dates(part)
        case None:
            raise DataError(f"data.{part}: not given")
        case unreachable:
            assert_never(unreachable)


def data_paths(data: Data, part: Part) -> dict[str, str]:
    """The files of one part, by the key that names each."""
    match _source(data, part):
        case ParallelFiles(source=source, target=target):
            return {f"data.{part}.source": source, f"data.{part}.target": target}
        case Table(path=path):
            return {f"data.{part}.path": path}
        case _:
            return {}


def _source(data: Data, part: Part) -> PairSource | None:
    return {"train": data.train, "valid": data.valid, "test": data.test}[part]
