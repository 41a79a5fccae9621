"""The strings that an ONNX package carries beside its graph, checked and read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from builder.errors import PackageError, TokenizerError, printable
from builder.runtime.digest import KEY
from builder.text.tokenizer import TextTokenizer

FORMAT = "1"
"""The version of the metadata that this runtime reads and export writes."""


@dataclass(frozen=True)
class Metadata:
    """What the runtime needs to know of a package besides its graph."""

    name: str
    blueprint: str
    """Resolved YAML."""
    source_tokenizer: TextTokenizer
    target_tokenizer: TextTokenizer
    source_limit: int | None
    """The most source tokens that the positions reach, EOS included; None without a limit."""
    source_vocab_size: int
    pad_id: int


def read_metadata(entries: Mapping[str, str]) -> Metadata:
    """Read the metadata of a package.

    Raises:
        PackageError: The entries were not written by an export, by a later one, or are damaged.
    """
    version = entries.get("transom.format")
    if version is None:
        raise PackageError("not a Transom package: its metadata holds no `transom.format`")
    if version != FORMAT:
        raise PackageError(
            f"its format is {version!r}, and this version reads {FORMAT!r}: export it again, "
            "or use the Transom that wrote it"
        )
    if KEY not in entries:
        raise PackageError(f"damaged metadata: no `{KEY}`")
    try:
        source, target = (_tokenizer(entries, side) for side in ("source", "target"))
        limit = json.loads(entries["transom.limits"])["source"]
        return Metadata(
            name=entries["transom.name"],
            blueprint=entries["transom.blueprint"],
            source_tokenizer=source,
            target_tokenizer=target,
            source_limit=None if limit is None else int(limit),
            source_vocab_size=int(json.loads(entries["transom.vocab_size"])["source"]),
            pad_id=int(json.loads(entries["transom.special_ids"])["pad"]),
        )
    except (KeyError, TypeError, ValueError, TokenizerError) as error:
        reason = printable(f"{type(error).__name__}: {error}")
        raise PackageError(f"damaged metadata: {reason}") from None


def _tokenizer(entries: Mapping[str, str], side: str) -> TextTokenizer:
    shared = entries.get("transom.tokenizer")
    return TextTokenizer.from_json(shared or entries[f"transom.tokenizer.{side}"])
