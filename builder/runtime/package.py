"""An exported package: lines in, lines out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnxruntime
from numpy.typing import ArrayLike

from builder.errors import DamageError, PackageError, printable
from builder.runtime.digest import is_damaged
from builder.runtime.metadata import Metadata, read_metadata
from builder.runtime.options import Options, complete
from builder.runtime.score import score_pairs
from builder.runtime.search import Found, Graph, Row, check_ids, longest_output
from builder.runtime.session import (
    CPU,
    check_signature,
    open_session,
    read_file,
    takes_prefix,
)
from builder.runtime.side_file import check, side_file
from builder.text.encode import encode_lines
from builder.text.output import Output, Scored, missing
from builder.text.prefix import Prefix, check_prefix, encode_prefix

BATCH_TOKENS = 4096
"""Source tokens, with padding, that the graph reads at once."""


@dataclass(frozen=True)
class Package:
    """An ONNX file that Transom exported, ready to run."""

    path: Path
    metadata: Metadata
    session: onnxruntime.InferenceSession
    takes_prefix: bool
    """Outputs can be told how to begin."""

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        threads: int | None = None,
        providers: Sequence[str] = (CPU,),
    ) -> Package:
        """Open the package in `path`; `threads` None takes one for each physical core.

        Raises:
            PackageError: The file is not a package, is damaged, or asks for what is not here.
            MemoryFailure: The file does not fit into memory.
        """
        path = Path(path)
        try:
            data = read_file(path)
            if is_damaged(data):
                raise DamageError("damaged: its content is not what its digest was made of")
            named = side_file(data)
            beside = None if named is None else check(named, path.parent)
            session = open_session(data, beside=beside, threads=threads, providers=providers)
            metadata = read_metadata(session.get_modelmeta().custom_metadata_map)
            check_signature(session, metadata.options)
        except PackageError as error:
            raise type(error)(f"{printable(path.absolute())}: {error}") from None
        return cls(path, metadata, session, takes_prefix(session))

    @property
    def provider(self) -> str:
        """What ONNX Runtime runs the graph on, as it tells."""
        return self.session.get_providers()[0]

    @property
    def threads(self) -> int | None:
        """Threads of one operation; None where ONNX Runtime takes one for each physical core."""
        return self.session.get_session_options().intra_op_num_threads or None

    def check_takes_prefix(self) -> None:
        """Refuse to tell outputs how to begin where the file has no such input.

        Raises:
            PackageError: It has none.
        """
        if not self.takes_prefix:
            raise PackageError(
                f"{printable(self.path.absolute())}: it has no input `target_prefix`, by which "
                "outputs are told how to begin and pairs are scored: export the run with "
                "`--set generation.target_prefix=true`, or give the run folder"
            )

    def generate(
        self,
        lines: Sequence[str],
        *,
        prefix: Prefix = None,
        batch_tokens: int = BATCH_TOKENS,
        first_line: int = 1,
        noun: str = "line",
        **options: float,
    ) -> list[Output]:
        """Write the best output for each line, in order; a line without text gives an empty one.

        `options` are those of the file, such as `max_length` and `beams`. Outputs begin with
        `prefix`, one for all lines or one for each. Messages name a line by `noun` and its number,
        which is `first_line` for the first.

        Raises:
            DataError: A line is longer than the model's positions reach, or no Unicode text, or
                its output cannot begin so.
            PackageError: The file has no such option, or takes no beginnings.
            MemoryFailure: There is not enough for the lines that are read at once.
        """
        if "n_best" in options:
            self._options(options)
        alone = {"n_best": 1} if "n_best" in self.metadata.options else {}
        found = self.generate_n_best(
            lines,
            prefix=prefix,
            batch_tokens=batch_tokens,
            first_line=first_line,
            noun=noun,
            **{**options, **alone},
        )
        return [row[0] if row else missing() for row in found]

    def generate_n_best(
        self,
        lines: Sequence[str],
        *,
        prefix: Prefix = None,
        batch_tokens: int = BATCH_TOKENS,
        first_line: int = 1,
        noun: str = "line",
        **options: float,
    ) -> list[list[Output]]:
        """Write the outputs for each line, best first, as many as `n_best` asks for.

        There may be fewer; a line without text gives one, which is empty. All else as `generate`.
        """
        metadata = self.metadata
        encoded = encode_lines(
            metadata.source_tokenizer,
            lines,
            limit=metadata.source_limit,
            first_line=first_line,
            noun=noun,
        )
        found = self.generate_ids(
            encoded,
            prefixes=self._prefixes(prefix, len(lines), first_line, noun),
            batch_tokens=batch_tokens,
            first_line=first_line,
            noun=noun,
            **options,
        )
        texts = iter(metadata.target_tokenizer.decode(one.ids for row in found for one in row))
        return [
            [Output(next(texts), one.score, len(one.ids), one.ended) for one in row]
            for row in found
        ]

    def _prefixes(
        self, prefix: Prefix, lines: int, first_line: int, noun: str
    ) -> list[list[int]] | None:
        """The ids that outputs are to begin with; None where nothing is asked for."""
        if prefix is None:
            return None
        tokenizer = self.metadata.target_tokenizer
        return encode_prefix(tokenizer, prefix, lines=lines, first_line=first_line, noun=noun)

    def generate_ids(
        self,
        sources: Iterable[ArrayLike],
        *,
        prefixes: Sequence[Sequence[int]] | None = None,
        batch_tokens: int = BATCH_TOKENS,
        first_line: int = 1,
        noun: str = "line",
        **options: float,
    ) -> list[list[Found]]:
        """Search the targets of each source: ids of any integer type, EOS at the end.

        Padding behind EOS may be there or not. An empty source gives one empty target. `prefixes`
        are ids, one row for each source.

        Raises:
            PackageError: Ids are no whole numbers, or outside the vocabulary; or as `generate`.
            DataError: A source is longer than the model's positions reach.
            MemoryFailure: There is not enough for the sources that are read at once.
        """
        asked = self._options(options)
        ids = [
            check_ids(source, self.metadata, f"{noun} {number}")
            for number, source in enumerate(sources, first_line)
        ]
        beginnings = [()] * len(ids) if prefixes is None else prefixes
        self.check_prefixes(beginnings, sources=len(ids))
        rows = [
            Row(source, f"{noun} {number}", prefix)
            for number, (source, prefix) in enumerate(zip(ids, beginnings, strict=True), first_line)
        ]
        for row in rows:
            limit = longest_output(row, self.metadata, asked) if len(row.ids) else None
            check_prefix(row.prefix, limit, row.place)
        return self.graph.search(rows, asked, batch_tokens=batch_tokens)

    def score(
        self,
        pairs: Sequence[tuple[str, str]],
        *,
        batch_tokens: int = BATCH_TOKENS,
        first_line: int = 1,
        noun: str = "line",
    ) -> list[Scored]:
        """Tell how likely the model finds each target, given its source, in order.

        The graph is made to write the target; pieces that the vocabulary lacks are the unknown
        token. An empty target of an empty source is certain.

        Raises:
            PackageError: The file takes no beginnings.
            DataError: A source is longer than the model's positions reach, or empty beside a
                target; or a target is longer than an output may be.
            MemoryFailure: There is not enough for the pairs that are read at once.
        """
        self.check_takes_prefix()
        return score_pairs(
            self.graph,
            self.metadata,
            pairs,
            batch_tokens=batch_tokens,
            first_line=first_line,
            noun=noun,
        )

    @property
    def graph(self) -> Graph:
        """What searches rows of ids."""
        return Graph(self.path, self.session, self.metadata.pad_id, self.takes_prefix)

    def _options(self, asked: Mapping[str, object]) -> Options:
        """The options of a search for which `asked` are wanted."""
        return complete(self.metadata.options, asked)

    def check_prefixes(self, prefixes: Sequence[Sequence[int]], *, sources: int) -> None:
        """Refuse beginnings, as ids, that the graph cannot take.

        Raises:
            PackageError: The file takes none, they are no row for each of `sources`, or an id is
                outside the vocabulary.
        """
        if any(prefixes):
            self.check_takes_prefix()
        size = self.metadata.target_tokenizer.vocab_size
        if len(prefixes) != sources or any(not -1 <= i < size for ids in prefixes for i in ids):
            raise PackageError(
                f"beginnings are a row for each of {sources:,} sources, of ids below {size:,} or −1"
            )
