"""Choices, each with its reason, into the text of a commented blueprint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from builder.blueprint.data import Columns
from builder.blueprint.write import dump_text

NUMBERED = Columns(source=1, target=2)
"""The columns of a table without a header."""
COMMENT_COLUMN = 44
"""Where the comment of a short line begins."""


HELP = (
    "#",
    "# transom check FILE   is it right?         transom data FILE    what will the model see?",
    "# transom build FILE   what will it cost?   transom train FILE   into the folder runs/NAME",
    "#",
    "# What is not written keeps its default: `transom build FILE --resolved` shows every value.",
    "# An editor completes and checks this file once you have run",
    "# `transom schema > blueprint.schema.json` and begun it with this line:",
    "# # yaml-language-server: $schema=blueprint.schema.json",
)


@dataclass(frozen=True)
class Size:
    """How large a network, how long a training."""

    d_model: int = 256
    layers: int = 3
    heads: int = 4
    d_ff: int = 1024
    dropout: float = 0.1
    batch_tokens: int = 4096
    minutes: int = 60
    warmup: int = 4000
    why: str = "small; the paper's base model has 512, 6, 8 and 2048"


@dataclass(frozen=True)
class Pieces:
    """How the text of one side is cut."""

    kind: str
    vocab_size: int | None = None
    """Of `bpe` only."""
    why: str = ""

    def __str__(self) -> str:
        if self.vocab_size is None:
            return self.kind
        return f"{{kind: {self.kind}, vocab_size: {self.vocab_size}}}"


@dataclass(frozen=True)
class Files:
    """Tables of pairs, as the blueprint names them."""

    train: str = "pairs.train.tsv"
    valid: str = "pairs.valid.tsv"
    test: str = ""
    """Empty for none."""
    columns: Columns = NUMBERED
    """Of `train`, and of all tables that have its header, if it has one."""
    headless: frozenset[str] = frozenset()
    """The tables, by split, that lack that header: their columns are 1 and 2."""
    why: tuple[str, ...] = (
        "Tables of tab-separated columns, one pair on each line. Columns by name, such as",
        "`{source: en, target: de}`, want a header. Two parallel files are",
        "`{source: train.en, target: train.de}`.",
        "Keep the pairs of `valid` out of `train`.",
    )


@dataclass(frozen=True)
class Draft:
    """Everything that the text of a new blueprint says."""

    name: str = "my-model"
    head: tuple[str, ...] = ("A blueprint to fill in: name your files under `data`.",)
    size: Size = field(default_factory=Size)
    source: Pieces = Pieces(
        "bpe", 8000, "for sentences; `char` for short strings, `word` for symbols"
    )
    target: Pieces = Pieces("bpe", 8000)
    shared: bool = True
    shared_why: str = "two alphabets? `target_output`, and a tokenizer for each side"
    files: Files = field(default_factory=Files)
    max_length: tuple[int, int] = (128, 128)
    max_length_why: str = "in tokens; longer pairs are left out"
    metric: str = "loss"
    metric_why: str = "or exact_match, token_error, char_error, bleu, chrf"
    plus: int = 50


def write_draft(draft: Draft) -> str:
    """The text of the blueprint that `draft` describes."""
    return "\n".join([*_head(draft), *_model(draft), *_text(draft), *_training(draft)]) + "\n"


def _head(draft: Draft) -> Iterator[str]:
    yield from (f"# {line}" for line in draft.head)
    yield from HELP
    yield "transom: 1"
    yield _line(f"name: {dump_text(draft.name)}", "names the run and the exported file")


def _model(draft: Draft) -> Iterator[str]:
    size = draft.size
    yield from ("", "model:")
    yield _line(f"  d_model: {size.d_model}", size.why)
    yield _line(f"  layers: {size.layers}", "of both stacks; `decoder: {layers: 1}` differs")
    yield f"  attention: {{heads: {size.heads}}}"
    yield f"  feed_forward: {{d_ff: {size.d_ff}}}"
    yield _line("  norm: {placement: pre}", "trains more readily than the paper's `post`")
    tie = "all" if draft.shared else "target_output"
    yield _line(f"  embeddings: {{tie: {tie}}}", draft.shared_why)
    yield _line(f"  dropout: {size.dropout}", "more of it for fewer pairs")


def _text(draft: Draft) -> Iterator[str]:
    yield ""
    if draft.shared:
        yield _line(f"tokenizer: {draft.source}", draft.source.why)
    else:
        yield "tokenizer:"
        yield _line(f"  source: {draft.source}", draft.source.why)
        yield _line(f"  target: {draft.target}", draft.target.why)
    yield from ("", "data:")
    yield from (f"  # {line}" for line in draft.files.why)
    for split in ("train", "valid", "test"):
        path = getattr(draft.files, split)
        if path:
            ends = NUMBERED if split in draft.files.headless else draft.files.columns
            columns = ", ".join(f"{side}: {_column(column)}" for side, column in ends)
            yield f"  {split}: {{path: {dump_text(path)}, columns: {{{columns}}}}}"
    source, target = draft.max_length
    yield _line(f"  max_length: {{source: {source}, target: {target}}}", draft.max_length_why)


def _column(column: int | str) -> str:
    return dump_text(column) if isinstance(column, str) else str(column)


def _training(draft: Draft) -> Iterator[str]:
    size = draft.size
    yield from ("", "training:")
    yield _line(f"  batch_tokens: {size.batch_tokens}", "target tokens of one update")
    yield _line(f"  minutes: {size.minutes}", "or `steps: 20000`, or both")
    warmup = f"  schedule: {{kind: noam, warmup: {size.warmup}}}"
    yield _line(warmup, "the rate rises over so many updates")
    yield _line(f"  validate: {{every: 500, metric: {draft.metric}}}", draft.metric_why)
    yield _line("  checkpoint: {every: 500, keep: 5, average: 5}", "the last 5 are averaged")
    yield ""
    limit = f"{{ratio: 1.0, plus: {draft.plus}}}"
    yield "# The longest output: ratio × source length + plus, in tokens."
    yield "# `kind: beam` takes longer and often writes better; `kind: sampling` draws at random."
    yield f"generation: {{kind: greedy, max_length: {limit}}}"


def _line(text: str, why: str) -> str:
    return f"{text.ljust(COMMENT_COLUMN - 2)}  # {why}" if why else text
