"""Lines into token ids and ids back into lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from tokenizers import Tokenizer

from builder.errors import DataError, TokenizerError, printable
from builder.text.control import BOS_ID, CONTROL_NAMES, EOS_ID, PAD_ID, UNK_ID


class TextTokenizer:
    """A learned vocabulary and the pipeline around it, stored as Hugging Face tokenizers JSON.

    Text is normalised first: NFC, lower case where the vocabulary was learned so, each run of
    white space (a byte order mark counts as such) one space, none at either end. Encoding what
    was decoded changes nothing more.
    """

    def __init__(self, inner: Tokenizer) -> None:
        self._inner = inner

    @classmethod
    def from_json(cls, text: str) -> TextTokenizer:
        """Read what `to_json` wrote.

        Raises:
            TokenizerError: `text` is something else.
        """
        try:
            inner = Tokenizer.from_str(text)
        except Exception as error:  # the library raises no narrower class
            raise TokenizerError(f"not a tokenizer: {printable(str(error))}") from error
        size = inner.get_vocab_size()
        names = tuple(inner.id_to_token(i) for i in range(len(CONTROL_NAMES)))
        if names != CONTROL_NAMES or inner.id_to_token(size - 1) is None:
            raise TokenizerError(
                "not a tokenizer of Transom: its first ids are not the control ids"
            )
        if inner.normalizer is None:
            raise TokenizerError("not a tokenizer of Transom: it does not normalise text")
        return cls(inner)

    def to_json(self) -> str:
        """The whole tokenizer; every `tokenizers` library reads it."""
        return self._inner.to_str()

    @property
    def vocab_size(self) -> int:
        """Rows of the vocabulary, the control ids included."""
        return self._inner.get_vocab_size()

    def encode(
        self, lines: Sequence[str], *, first_line: int = 1, noun: str = "line"
    ) -> list[list[int]]:
        """Ids of each line, EOS at the end and no BOS; what the vocabulary lacks is unk.

        Messages name a line by `noun` and its number, which is `first_line` for the first.

        Raises:
            DataError: a line holds half of a surrogate pair, which is no character.
        """
        # Line by line: as quick as a batch on few cores, and starts no thread pool.
        encoded = []
        for number, line in enumerate(lines, start=first_line):
            try:
                encoded.append(self._inner.encode(line).ids)
            except TypeError as error:
                raise DataError(
                    f"{noun} {number}: not Unicode: half of a surrogate pair, as bytes that are "
                    "not UTF-8 become in an argument"
                ) from error
        return encoded

    def decode(self, sequences: Iterable[Sequence[int]]) -> list[str]:
        """One line for each sequence: what stands before its EOS, without pad and BOS.

        An unk becomes U+FFFD. The text never holds a line break.
        """
        return [self._decode(ids) for ids in sequences]

    def pieces(self, line: str) -> list[str]:
        """The pieces `line` is cut into; unknown ones show the name of unk."""
        return self._inner.encode(line, add_special_tokens=False).tokens

    def unknown(self, line: str) -> list[str]:
        """The parts of `line`, normalised, that the vocabulary lacks."""
        text = self._inner.normalizer.normalize_str(line)
        encoded = self._inner.encode(text, add_special_tokens=False)
        places = zip(encoded.ids, encoded.offsets, strict=True)
        return [text[start:end].strip() for i, (start, end) in places if i == UNK_ID]

    def id_of(self, token: str) -> int:
        """The id of a text that is one piece of the vocabulary.

        Raises:
            DataError: It is several pieces, none, or unknown.
        """
        ids = self._inner.encode(token, add_special_tokens=False).ids
        if len(ids) != 1 or ids[0] == UNK_ID:
            what = "unknown" if UNK_ID in ids else f"{len(ids)} pieces"
            raise DataError(f"{printable(repr(token))} is no piece of the vocabulary: {what}")
        return ids[0]

    def _decode(self, ids: Sequence[int]) -> str:
        until_end = takewhile(lambda i: i != EOS_ID, map(int, ids))
        text = self._inner.decode([i for i in until_end if i not in (PAD_ID, BOS_ID)])
        return " ".join(text.splitlines())
