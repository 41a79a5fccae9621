from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from builder.errors import PackageError
from builder.runtime.package import Package

WriteEcho = Callable[..., Path]


def test_reads_what_the_runtime_needs(write_echo: WriteEcho) -> None:
    metadata = Package.load(write_echo(source_limit=64)).metadata

    assert metadata.name == "echo"
    assert metadata.source_limit == 64
    assert metadata.pad_id == 0
    assert metadata.source_vocab_size == metadata.source_tokenizer.vocab_size
    assert metadata.source_tokenizer.encode(["ab"]) == metadata.target_tokenizer.encode(["ab"])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("transom.format", None),
        ("transom.format", "3"),
        ("transom.name", None),
        ("transom.tokenizer", None),
        ("transom.tokenizer", "{}"),
        ("transom.limits", "{}"),
        ("transom.limits", "not json"),
        ("transom.limits", '{"source": "many"}'),
        ("transom.limits", '{"source": null, "target": null, "ratio": 1.0}'),
        ("transom.limits", '{"source": null, "target": null, "ratio": NaN, "plus": 1}'),
        ("transom.limits", '{"source": null, "target": null, "ratio": 1.0, "plus": 1e999}'),
        ("transom.options", None),
        ("transom.options", "[1]"),
        ("transom.options", '{"max_length": 0}'),
        ("transom.options", '{"max_length": true}'),
        ("transom.options", '{"max_length": 9, "other": 1}'),
        ("transom.options", "[" * 100_000),
        ("transom.proof", None),
        ("transom.vocab_size", "[1]"),
        ("transom.vocab_size", '{"source": null}'),
        ("transom.vocab_size", '{"source": 1e999}'),
        ("transom.special_ids", None),
        ("transom.digest", None),
    ],
)
def test_names_the_file_whose_metadata_is_wrong(
    write_echo: WriteEcho, key: str, value: str | None
) -> None:
    path = write_echo(metadata={key: value})

    with pytest.raises(PackageError, match=str(path)):
        Package.load(path)


def test_an_earlier_format_is_to_be_exported_again(write_echo: WriteEcho) -> None:
    path = write_echo(metadata={"transom.format": "1"})

    with pytest.raises(PackageError, match=r"'1'.*'2'.*export"):
        Package.load(path)
