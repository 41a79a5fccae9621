"""A blueprint's data into what its model will see: counts, lengths, unknowns, padding, pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.data import Lengths
from builder.blueprint.model import Learned
from builder.blueprint.problems import missing_section
from builder.blueprint.training import Training
from builder.data.batches import plan_batches, split_microbatches
from builder.data.pairs import Pairs
from builder.data.store import PairStore, TokenStore, encode_pairs
from builder.dataset import Part, read_pairs
from builder.errors import BlueprintError
from builder.text.control import UNK_ID
from builder.training.corpus import Tokenizers, learn, refuse_empty

PARTS: tuple[Part, ...] = ("train", "valid", "test")
UNLIMITED = 2**31 - 1

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Side:
    """One side of the pairs. Lengths are in tokens, EOS counted, of pairs that are too long too."""

    median: int
    most: int
    """95 % of the lines are no longer than this."""
    longest: int
    unknown: float
    """The share of tokens, in the pairs that are kept, that the vocabulary lacks."""


@dataclass(frozen=True)
class Split:
    """The pairs of `train`, `valid` or `test`."""

    name: Part
    origin: str
    """The files or the built-in set they come from."""
    pairs: int
    """Those that are kept."""
    all_pairs: int
    """Those with text on both sides, the ones that are too long too."""
    dropped: dict[str, int]
    """Pairs left out, by reason."""
    note: str
    """What else there is to say of them."""
    source: Side | None
    """None where no pair has text on both sides."""
    target: Side | None
    repeated: int = 0
    """Of all pairs, those that are also in `train`; 0 of `train` itself."""
    unreachable: int = 0
    """Of all pairs, those whose target is longer than `generation` lets an output become."""


@dataclass(frozen=True)
class Batches:
    """The training pairs as the first epoch takes them."""

    updates: int
    padding: float
    """The share of positions, over both sides, that hold no token."""


@dataclass(frozen=True)
class Sample:
    """A training pair, and the pieces it is cut into."""

    source: str
    target: str
    source_pieces: list[str]
    target_pieces: list[str]


@dataclass(frozen=True)
class Inspection:
    """What a model will see of its data."""

    splits: list[Split]
    vocabulary: dict[str, int]
    """Rows of source and target, the control ids included."""
    shared: bool
    """Whether both are one."""
    batches: Batches | None
    """None without a `training` section, or without pairs."""
    samples: list[Sample]

    @property
    def is_usable(self) -> bool:
        """Whether there are pairs to train on, and others to validate on."""
        return all(split.pairs for split in self.splits if split.name in ("train", "valid"))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def inspect_data(blueprint: Blueprint, *, samples: int = 5, file: str = "") -> Inspection:
    """Read all data, learn the tokenizers, and measure what training would be given.

    Messages name `file` as the one that holds the blueprint.

    Raises:
        BlueprintError: There is no `data` or no `tokenizer` section.
        DataError: A file is missing or unreadable, or no training pair has text on both sides.
        TokenizerError: The text allows no such tokenizer.
    """
    data, tokenizer = blueprint.data, blueprint.tokenizer
    if data is None or tokenizer is None:
        missing = [key for key in ("tokenizer", "data") if getattr(blueprint, key) is None]
        raise BlueprintError([missing_section(key, file) for key in missing])
    read = {part: read_pairs(data, part) for part in PARTS if getattr(data, part) is not None}
    refuse_empty("data.train", read["train"])
    tokenizers = learn(tokenizer, read["train"])
    stores = {
        part: encode_pairs(pairs, *tokenizers, UNLIMITED, UNLIMITED).store
        for part, pairs in read.items()
    }
    fitting = {part: _fitting(store, data.max_length) for part, store in stores.items()}
    kept = fitting["train"][0]
    return Inspection(
        splits=[
            replace(
                _split(part, pairs, fitting[part], stores[part]),
                repeated=_repeated(pairs, read["train"]) if part != "train" else 0,
                unreachable=_unreachable(stores[part], blueprint),
            )
            for part, pairs in read.items()
        ],
        vocabulary={
            "source": tokenizers[0].vocab_size,
            "target": tokenizers[1].vocab_size,
        },
        shared=tokenizer.shared,
        batches=_batches(stores["train"], kept, blueprint.training),
        samples=list(_samples(read["train"], kept, tokenizers, samples)),
    )


def _fitting(store: PairStore, limits: Lengths) -> tuple[Numbers, dict[str, int]]:
    """The indices of the pairs within the limits, and a count of the others by reason."""
    source = store.source.lengths > limits.source
    target = (store.target.lengths > limits.target) & ~source
    counts = {
        f"source over {limits.source} tokens": int(source.sum()),
        f"target over {limits.target} tokens": int(target.sum()),
    }
    return np.flatnonzero(~source & ~target), {key: n for key, n in counts.items() if n}


def _split(
    name: Part, pairs: Pairs, fitting: tuple[Numbers, dict[str, int]], store: PairStore
) -> Split:
    kept, too_long = fitting
    return Split(
        name=name,
        origin=pairs.origin,
        pairs=len(kept),
        all_pairs=len(pairs),
        dropped=dict(Counter(pairs.dropped) + Counter(too_long)),
        note=pairs.note,
        source=_side(store.source, kept),
        target=_side(store.target, kept),
    )


def _repeated(pairs: Pairs, train: Pairs) -> int:
    """How many of `pairs` are also in `train`."""
    held_out = Counter(zip(pairs.sources, pairs.targets, strict=True))
    known = {pair for pair in zip(train.sources, train.targets, strict=True) if pair in held_out}
    return sum(held_out[pair] for pair in known)


def _unreachable(store: PairStore, blueprint: Blueprint) -> int:
    """How many targets are longer than the search may write for their sources."""
    rule, positions = blueprint.generation.max_length, blueprint.model.decoder.positions[0]
    ratio = Fraction(f"{rule.ratio:.6f}")  # as the search rounds it
    limits = store.source.lengths * ratio.numerator // ratio.denominator + rule.plus
    if isinstance(positions, Learned):
        limits = np.minimum(limits, positions.max_length)
    return int((store.target.lengths > limits).sum())


def _side(store: TokenStore, kept: Numbers) -> Side | None:
    if not len(store):
        return None
    median, most, longest = np.quantile(
        store.lengths, [0.5, 0.95, 1.0], method="inverted_cdf"
    ).tolist()
    sums = np.concatenate([[0], np.cumsum(store.ids == UNK_ID)])
    unknown = (sums[store.offsets[1:]] - sums[store.offsets[:-1]])[kept].sum()
    tokens = store.lengths[kept].sum()
    return Side(median, most, longest, float(unknown / tokens) if tokens else 0.0)


def _batches(store: PairStore, kept: Numbers, training: Training | None) -> Batches | None:
    if training is None or not len(kept):
        return None
    source, target = store.source.lengths[kept], store.target.lengths[kept]
    batches = plan_batches(
        source, target, batch_tokens=training.batch_tokens, seed=training.seed, epoch=0
    )
    positions = 0
    for batch in batches:
        for part in split_microbatches(batch, target, source, training.forward_positions):
            positions += len(part) * int(source[part].max() + target[part].max())
    return Batches(len(batches), 1 - int(source.sum() + target.sum()) / positions)


def _samples(pairs: Pairs, kept: Numbers, tokenizers: Tokenizers, count: int) -> Iterator[Sample]:
    """Pairs from all over the training data, the same ones every time."""
    chosen = np.linspace(0, len(kept) - 1, num=min(count, len(kept)), dtype=np.int64)
    for index in kept[chosen].tolist():
        source, target = pairs.sources[index], pairs.targets[index]
        yield Sample(source, target, tokenizers[0].pieces(source), tokenizers[1].pieces(target))
