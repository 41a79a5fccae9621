"""A trained network and lines into lines, in PyTorch; the exported file does the same without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Int
from torch import Tensor

from builder.blueprint.generation import Strategy
from builder.decoding import Decoding
from builder.errors import DataError
from builder.nn.transformer import PAD_ID, Transformer
from builder.options import options_of
from builder.search.constraints import Rules
from builder.search.found import Found
from builder.search.limits import LengthRule
from builder.search.options import Options
from builder.search.search import Search
from builder.text.batches import by_length
from builder.text.control import BOS_ID, UNK_ID
from builder.text.encode import check_length, encode_lines, encode_pairs
from builder.text.output import Output, Scored, missing, nothing
from builder.text.prefix import (
    FREE,
    OutputLimit,
    Prefix,
    check_prefix,
    encode_prefix,
    padded,
)
from builder.text.tokenizer import TextTokenizer

BATCH_TOKENS = 4096
"""Source tokens, with padding, that are read at once."""

Asked = Mapping[str, int | float]


@dataclass(frozen=True)
class Generator:
    """A network in evaluation mode with its search, its tokenizers and what is unasked."""

    decoding: Decoding
    source: TextTokenizer
    target: TextTokenizer
    options: Asked
    takes_prefix: bool = False

    @classmethod
    def of(
        cls, model: Transformer, tokenizers: tuple[TextTokenizer, TextTokenizer], strategy: Strategy
    ) -> Generator:
        """Put `model` and `strategy` together; `tokenizers` are those of source and target.

        Raises:
            DataError: A token that is never to be written is none of the target's.
        """
        source, target = tokenizers
        search = search_of(strategy, target, positions=model.target_embedding.max_length)
        options = options_of(strategy)
        return cls(Decoding(model, search), source, target, options, strategy.target_prefix)

    def with_model(self, model: Transformer) -> Generator:
        """Return the same with other weights."""
        return replace(self, decoding=replace(self.decoding, model=model))

    def lines(
        self,
        lines: Sequence[str],
        *,
        asked: Asked | None = None,
        prefix: Prefix = None,
        first_line: int = 1,
        noun: str = "line",
    ) -> list[list[Output]]:
        """Generate the n best outputs of each line, in order; an empty line has an empty one.

        `asked` are options that differ from the defaults. Outputs begin with `prefix`, one for all
        lines or one for each. Messages name a line by `noun` and its number, which is `first_line`
        for the first.

        Raises:
            DataError: A line is longer than the source's positions, or no Unicode text, or its
                output cannot begin so.
        """
        limit = self.decoding.model.source_embedding.max_length
        encoded = encode_lines(self.source, lines, limit=limit, first_line=first_line, noun=noun)
        prefixes = encode_prefix(
            self.target, prefix, lines=len(lines), first_line=first_line, noun=noun
        )
        for row, (ids, beginning) in enumerate(zip(encoded, prefixes, strict=True)):
            room = self._limit(len(ids), asked) if ids else None
            check_prefix(beginning, room, f"{noun} {first_line + row}")
        results = [nothing()] * len(lines)
        full = [row for row, ids in enumerate(encoded) if ids]
        for group in by_length([len(encoded[row]) for row in full], batch_tokens=BATCH_TOKENS):
            rows = [full[place] for place in group]
            beginnings = torch.tensor(padded([prefixes[row] for row in rows]))
            found = self.ids(
                pad([encoded[row] for row in rows]),
                asked=asked,
                prefix=None if prefix is None else beginnings,
            )
            for row, outputs in zip(rows, _outputs(found, self.target), strict=True):
                results[row] = outputs
        return results

    def ids(
        self,
        source_ids: Int[Tensor, "batch source"],
        *,
        asked: Asked | None = None,
        prefix: Int[Tensor, "batch prefix"] | None = None,
    ) -> Found:
        """Search the best targets of padded sources, each within its own limit.

        `prefix` are the tokens that outputs begin with, −1 where they are free.
        """
        options = {**self.options, **(asked or {})}
        if prefix is None and self.takes_prefix:
            prefix = torch.full((len(source_ids), 1), FREE)
        device = self.decoding.model.output.device
        given, places = as_tensors(options, prefix, device)
        found = self.decoding.generate(source_ids.to(device), given, places)
        return found.best(int(options.get("n_best", 1)))

    @torch.no_grad()
    def score(
        self, pairs: Sequence[tuple[str, str]], *, first_line: int = 1, noun: str = "line"
    ) -> list[Scored]:
        """Tell how likely the network finds each target, given its source, in order.

        Pieces that the vocabulary lacks are the unknown token. An empty target of an empty source
        is certain. Messages name a pair as `lines` names a line.

        Raises:
            DataError: A source or a target is longer than the positions, or a source is empty
                beside a target.
        """
        model = self.decoding.model
        encoded = encode_pairs(
            (self.source, self.target),
            pairs,
            limit=model.source_embedding.max_length,
            first_line=first_line,
            noun=noun,
        )
        for number, (_, target) in enumerate(encoded, first_line):
            check_length(len(target), model.target_embedding.max_length, f"{noun} {number}")
        results = [Scored(0.0, 0)] * len(pairs)
        full = [number for number, (source, _) in enumerate(encoded) if source]
        lengths = [max(map(len, encoded[number])) for number in full]
        for group in by_length(lengths, batch_tokens=BATCH_TOKENS):
            rows = [full[place] for place in group]
            for row, score in zip(rows, self._scores([encoded[row] for row in rows]), strict=True):
                results[row] = Scored(score, len(encoded[row][1]))
        return results

    def _scores(self, pairs: Sequence[tuple[list[int], list[int]]]) -> list[float]:
        """The logarithms of the probabilities of targets."""
        device = self.decoding.model.output.device
        source_ids, target_ids = (pad(side).to(device) for side in zip(*pairs, strict=True))
        before = torch.cat([torch.full_like(target_ids[:, :1], BOS_ID), target_ids[:, :-1]], dim=1)
        log_probs = self.decoding.model(source_ids, before).log_softmax(dim=-1)
        written = log_probs.gather(2, target_ids[..., None]).squeeze(2)
        return written.masked_fill(target_ids == PAD_ID, 0.0).sum(dim=1).tolist()

    def _limit(self, source_tokens: int, asked: Asked | None) -> int:
        """The longest output of a source, in tokens, EOS counted."""
        rule = self.decoding.search.lengths
        limit = OutputLimit(rule.ratio, rule.plus, rule.ceiling)
        return limit.tokens(source_tokens, int({**self.options, **(asked or {})}["max_length"]))


def generate_lines(
    model: Transformer,
    tokenizers: tuple[TextTokenizer, TextTokenizer],
    lines: Sequence[str],
    *,
    strategy: Strategy,
    asked: Asked | None = None,
    first_line: int = 1,
    noun: str = "line",
) -> list[Output]:
    """Generate the best output of each line, as `Generator.lines` does."""
    generator = Generator.of(model, tokenizers, strategy)
    outputs = generator.lines(lines, asked=asked, first_line=first_line, noun=noun)
    return [row[0] if row else missing() for row in outputs]


def search_of(strategy: Strategy, target: TextTokenizer, *, positions: int | None) -> Search:
    """Return the search that a blueprint describes; `positions` is the target's limit.

    Raises:
        DataError: A token that is never to be written is none of the target's.
    """
    limit = strategy.max_length
    try:
        suppressed = {target.id_of(token) for token in strategy.suppress_tokens}
    except DataError as error:
        raise DataError(f"generation.suppress_tokens: {error}") from None
    suppressed |= {UNK_ID} if strategy.suppress_unknown else set()
    return Search(
        strategy.kind,
        LengthRule.of(limit.ratio, limit.plus, positions),
        Rules(strategy.no_repeat_ngram_size or 0, tuple(sorted(suppressed))),
    )


def as_tensors(
    options: Asked, prefix: Int[Tensor, "batch prefix"] | None, device: torch.device
) -> tuple[Options, Int[Tensor, " beam"] | None]:
    """Return options as a search takes them, and the numbers of its hypotheses."""
    there = {
        name: torch.tensor(value, device=device)
        for name, value in options.items()
        if name in Options._fields
    }
    width = options.get("beams", options.get("n_best"))
    places = None if width is None else torch.arange(int(width), device=device)
    beginnings = None if prefix is None else prefix.to(device)
    return Options(**there, target_prefix=beginnings), places


def _outputs(found: Found, tokenizer: TextTokenizer) -> list[list[Output]]:
    """The outputs of each row, without those that are none; tensors leave their device once."""
    parts = (part.tolist() for part in found)
    rows = [[one for one in zip(*row, strict=True) if one[2]] for row in zip(*parts, strict=True)]
    texts = iter(tokenizer.decode(ids[:length] for row in rows for ids, _, length, _ in row))
    return [[Output(next(texts), *one[1:]) for one in row] for row in rows]


def pad(sequences: Sequence[Sequence[int]]) -> Int[Tensor, "batch time"]:
    """Put sequences into one tensor, padded on the right."""
    longest = max(map(len, sequences))
    return torch.tensor([[*ids, *[PAD_ID] * (longest - len(ids))] for ids in sequences])
