"""The strings that an ONNX package carries beside its graph, checked and read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from builder.errors import PackageError, TokenizerError, printable
from builder.runtime.digest import KEY
from builder.runtime.options import ALLOWED, Options, complete
from builder.text.prefix import OutputLimit
from builder.text.tokenizer import TextTokenizer

FORMAT = "2"
"""The version of the metadata that this runtime reads and export writes."""

UNREADABLE = (KeyError, TypeError, ValueError, OverflowError, RecursionError, TokenizerError)
"""What entries that export did not write end in."""


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
    output_limit: OutputLimit
    source_vocab_size: int
    pad_id: int
    options: Options
    """What can be asked of each search, with what holds where nothing is asked for."""
    proof: str
    """JSON: what export compared with PyTorch, and samples to repeat."""


def read_metadata(entries: Mapping[str, str]) -> Metadata:
    """Read the metadata of a package.

    Raises:
        PackageError: The entries were not written by an export, by another one, or are damaged.
    """
    version = entries.get("transom.format")
    if version is None:
        raise PackageError("not a Transom package: its metadata holds no `transom.format`")
    if version != FORMAT:
        raise PackageError(
            f"its format is {printable(repr(version))}, and this version reads {FORMAT!r}: export "
            "its run again, or use the Transom that wrote it"
        )
    if KEY not in entries:
        raise PackageError(f"damaged metadata: no `{KEY}`")
    try:
        return _read(entries)
    except UNREADABLE as error:
        reason = printable(f"{type(error).__name__}: {error}")
        raise PackageError(f"damaged metadata: {reason}") from None


def _read(entries: Mapping[str, str]) -> Metadata:
    source, target = (_tokenizer(entries, side) for side in ("source", "target"))
    limits = json.loads(entries["transom.limits"])
    return Metadata(
        name=entries["transom.name"],
        blueprint=entries["transom.blueprint"],
        source_tokenizer=source,
        target_tokenizer=target,
        source_limit=_positions(limits["source"]),
        output_limit=OutputLimit.of(
            float(limits["ratio"]), int(limits["plus"]), _positions(limits["target"])
        ),
        source_vocab_size=int(json.loads(entries["transom.vocab_size"])["source"]),
        pad_id=int(json.loads(entries["transom.special_ids"])["pad"]),
        options=_options(json.loads(entries["transom.options"])),
        proof=entries["transom.proof"],
    )


def _tokenizer(entries: Mapping[str, str], side: str) -> TextTokenizer:
    shared = entries.get("transom.tokenizer")
    return TextTokenizer.from_json(shared or entries[f"transom.tokenizer.{side}"])


def _positions(limit: Any) -> int | None:
    return None if limit is None else int(limit)


def _options(written: Any) -> Options:
    """The options and their defaults, each of which is allowed.

    Raises:
        ValueError: One is unknown.
        PackageError: One is not allowed.
    """
    own = dict(written)
    unknown = own.keys() - ALLOWED.keys()
    if unknown:
        raise ValueError(f"unknown options: {', '.join(sorted(map(str, unknown)))}")
    try:
        return complete(own, own)
    except PackageError as error:
        raise PackageError(f"damaged metadata: {error}") from None
