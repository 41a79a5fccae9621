"""A run folder: what lies where in it, and how to read it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.load import load_blueprint
from builder.errors import RunError, TokenizerError, printable
from builder.text.tokenizer import TextTokenizer

if TYPE_CHECKING:
    from builder.nn.transformer import Transformer

BLUEPRINT = "blueprint.yaml"
TOKENIZER = "tokenizer.json"
SOURCE_TOKENIZER = "tokenizer.source.json"
TARGET_TOKENIZER = "tokenizer.target.json"
WEIGHTS = "weights.safetensors"
PROOF = "proof.jsonl"
LOG = "log.jsonl"
CHECKPOINTS = "checkpoints"


def is_writable(folder: Path) -> bool:
    """Whether files can be written in `folder`, which may still have to be made."""
    nearest = next(
        path for path in (folder.absolute(), *folder.absolute().parents) if path.exists()
    )
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)


def settled(path: Path) -> Path:
    """`path` without `..`, so that making its folders makes none that it only passes through."""
    return path.resolve() if ".." in path.parts else path


@dataclass(frozen=True)
class Run:
    """A folder made by training; everything that export and generation need is inside."""

    folder: Path
    blueprint: Blueprint

    @classmethod
    def open(cls, folder: Path) -> Run:
        """Read the run in `folder`.

        Raises:
            RunError: There is no run, or a file of it is missing.
        """
        if not folder.is_dir():
            what = "is a file, not a run folder" if folder.exists() else "no such folder"
            raise RunError(f"{printable(folder.absolute())}: {what}")
        if not (folder / BLUEPRINT).is_file():
            raise RunError(f"{printable(folder.absolute())}: holds no run: no `{BLUEPRINT}` in it")
        return cls(folder, load_blueprint(folder / BLUEPRINT))

    @property
    def name(self) -> str:
        """The blueprint's name, whatever the folder is called."""
        return self.blueprint.name

    @property
    def package(self) -> Path:
        """Where export puts the ONNX file."""
        return self.folder / f"{self.name}.onnx"

    @cached_property
    def source_tokenizer(self) -> TextTokenizer:
        """The tokenizer of the source side."""
        return self._tokenizer(SOURCE_TOKENIZER)

    @cached_property
    def target_tokenizer(self) -> TextTokenizer:
        """The tokenizer of the target side; the same object where one serves both."""
        return self.source_tokenizer if self._shared else self._tokenizer(TARGET_TOKENIZER)

    @property
    def _shared(self) -> bool:
        return (self.folder / TOKENIZER).is_file()

    def _tokenizer(self, name: str) -> TextTokenizer:
        path = self._tokenizer_file(name)
        place = printable(path.absolute())
        try:
            return TextTokenizer.from_json(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RunError(f"{place}: missing: {_expected(path.name)}") from None
        except OSError as error:
            raise RunError(f"{place}: {str(error.strerror).lower()}") from None
        except (TokenizerError, UnicodeDecodeError) as error:
            raise RunError(f"{place}: damaged: {error}") from None

    def _tokenizer_file(self, name: str) -> Path:
        """Where the tokenizer of a side is, which has the file `name` where there are two."""
        pair = any((self.folder / each).exists() for each in (SOURCE_TOKENIZER, TARGET_TOKENIZER))
        return self.folder / (name if pair and not self._shared else TOKENIZER)

    def load_model(self) -> Transformer:
        """Build the network with the run's weights, in float32, ready to generate.

        Raises:
            RunError: There are no weights yet, they belong to another blueprint, or the tokenizers
                are not those that they were trained with.
        """
        from builder.compile import compile_model
        from builder.weights import load_weights

        path = self.folder / WEIGHTS
        if not path.is_file():
            raise RunError(f"{printable(path.absolute())}: no weights yet: train the run first")
        model = compile_model(self.blueprint.model)
        load_weights(model, path)
        self._check_rows("source", model.source_embedding.tokens.num_embeddings)
        self._check_rows("target", len(model.output))
        return model.eval()

    def _check_rows(self, side: Literal["source", "target"], rows: int) -> None:
        """Refuse a tokenizer whose ids are not those that the `rows` of the weights stand for."""
        source = side == "source"
        size = (self.source_tokenizer if source else self.target_tokenizer).vocab_size
        if size == rows:
            return
        file = self._tokenizer_file(SOURCE_TOKENIZER if source else TARGET_TOKENIZER)
        raise RunError(
            f"{printable(file.absolute())}: {size:,} rows, but {rows:,} for the {side} in "
            f"{printable((self.folder / WEIGHTS).absolute())}: not the tokenizer of this run"
        )


def _expected(name: str) -> str:
    """What a run holds that lacks the tokenizer `name`."""
    pair = f"`{SOURCE_TOKENIZER}` and `{TARGET_TOKENIZER}`"
    if name == TOKENIZER:
        return f"a run holds `{TOKENIZER}`, or both {pair}"
    return f"of {pair}, a run holds both"
