"""What a model will see of its data into warnings: what makes a training fail, or mislead."""

from __future__ import annotations

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.tokenizer import Recipe
from builder.inspection import Inspection, Side, Split
from builder.wording import counted

LEFT_OUT = 0.2
"""More than this share of the pairs left out is seldom meant."""
UNKNOWN = 0.2
"""With more than this share of unknown tokens, a side is hardly read."""
REPEATED = 0.5
"""With more than this share of its pairs in `train`, a part measures what was learned by heart."""


def find_doubts(blueprint: Blueprint, seen: Inspection) -> list[str]:
    """A line for each thing that is probably not meant, the place first."""
    doubts = []
    for split in seen.splits:
        doubts += [_emptiness(split) or _losses(split)]
        for side in ("source", "target"):
            doubts += [_unknowns(blueprint, split, side)]
        doubts += [_repetition(split, seen.splits[0]), _reach(split)]
    return [doubt for doubt in doubts if doubt]


def _emptiness(split: Split) -> str:
    if split.pairs:
        return ""
    command = "evaluate" if split.name == "test" else "train"
    return f"data.{split.name}: 0 usable pairs; {_reasons(split)}; `{command}` refuses such data"


def _losses(split: Split) -> str:
    lost = sum(split.dropped.values())
    share = lost / (lost + split.pairs)
    if share <= LEFT_OUT:
        return ""
    return f"data.{split.name}: {100 * share:.0f} % of the pairs are left out; {_reasons(split)}"


def _reasons(split: Split) -> str:
    """Why pairs are left out, and what would keep them."""
    counts = ", ".join(f"{count:,} {reason}" for reason, count in split.dropped.items())
    sides = [
        side
        for side in ("source", "target")
        if any(reason.startswith(f"{side} over") for reason in split.dropped)
    ]
    keys = " and ".join(f"`data.max_length.{side}`" for side in sides)
    return (counts or "none was found") + (f"; a higher {keys} keeps more" if keys else "")


def _unknowns(blueprint: Blueprint, split: Split, name: str) -> str:
    side: Side | None = getattr(split, name)
    if side is None or side.unknown <= UNKNOWN or blueprint.tokenizer is None:
        return ""
    tokenizer = blueprint.tokenizer
    key = f"tokenizer.{name}" if not tokenizer.shared else "tokenizer"
    return (
        f"data.{split.name}: {100 * side.unknown:.0f} % of the {name} tokens are unknown: "
        f"{_likely(getattr(tokenizer, name), key)}"
    )


def _likely(recipe: Recipe, key: str) -> str:
    """Why a tokenizer of this kind may not know what it reads."""
    if recipe.kind != "word":
        return (
            "the training text lacks these characters; is this the same language, and are source "
            "and target not swapped?"
        )
    limit = (
        f"`{key}.vocab_size` keeps {recipe.vocab_size:,} rows for them; "
        if recipe.vocab_size is not None
        else ""
    )
    return f"the vocabulary lacks these words; {limit}`bpe` cuts rare words into known pieces"


def _repetition(split: Split, train: Split) -> str:
    if not split.repeated or split.repeated <= REPEATED * split.all_pairs:
        return ""
    same = ", for it is the same file" if split.origin == train.origin else ""
    return (
        f"data.{split.name}: {100 * split.repeated / split.all_pairs:.0f} % of the pairs "
        f"({split.repeated:,} of {split.all_pairs:,}) are also in data.train{same}; "
        "scores on pairs that were trained on say nothing about others"
    )


def _reach(split: Split) -> str:
    if split.name == "train" or not split.unreachable:
        return ""
    longer = f"{split.unreachable:,} of {counted(split.all_pairs, 'target')}"
    return (
        f"data.{split.name}: longer than `generation.max_length` lets an output become, so never "
        f"written right: {longer}; a higher `generation.max_length.plus` makes room"
    )
