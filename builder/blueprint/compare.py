"""Two blueprints into what differs between them in meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.model import Model
from builder.blueprint.nodes import KeyPath, dotted
from builder.blueprint.plan import make_plan
from builder.blueprint.plan.amount import Amount
from builder.blueprint.plan.blocks import Block
from builder.blueprint.plan.drawing import Drawing, draw_stack


@dataclass(frozen=True)
class Choice:
    """A value of the resolved form that differs."""

    key: str
    left: Any
    """None where there is no such value, or none is chosen."""
    right: Any


@dataclass(frozen=True)
class Size:
    """The parameters of a block that differs; None where a side has no such block."""

    block: str
    left: Block | None
    right: Block | None


@dataclass(frozen=True)
class Sight:
    """A stack whose tokens see others."""

    stack: str
    left: tuple[Drawing, ...]
    """Every mask of the stack; several where layers differ."""
    right: tuple[Drawing, ...]


@dataclass(frozen=True)
class Comparison:
    """What differs between two blueprints."""

    choices: tuple[Choice, ...]
    parameters: tuple[Amount, Amount]
    """All of them, on the left and on the right."""
    sizes: tuple[Size, ...]
    masks: tuple[Sight, ...]

    @property
    def more(self) -> int | None:
        """How many parameters the right has more; None where a vocabulary is not known yet."""
        left, right = self.parameters
        return right.fixed - left.fixed if dict(left.per_row) == dict(right.per_row) else None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        left, right = self.parameters
        return {
            "choices": [vars(choice) for choice in self.choices],
            "parameters": {
                "left": left.as_dict(),
                "right": right.as_dict(),
                "more": self.more,
                "blocks": [
                    {
                        "name": size.block,
                        "left": size.left and size.left.as_dict(),
                        "right": size.right and size.right.as_dict(),
                    }
                    for size in self.sizes
                ],
            },
            "masks": [
                {
                    "stack": mask.stack,
                    "left": [drawing.as_dict() for drawing in mask.left],
                    "right": [drawing.as_dict() for drawing in mask.right],
                }
                for mask in self.masks
            ],
        }


def compare(left: Blueprint, right: Blueprint) -> Comparison:
    """Compare what is built, learned and written: the resolved forms, sizes and masks.

    Names and descriptions have no part in it.
    """
    plans = make_plan(left), make_plan(right)
    return Comparison(
        choices=tuple(_choices(_meaning(left), _meaning(right))),
        parameters=(plans[0].parameters, plans[1].parameters),
        sizes=tuple(_sizes(plans[0].blocks, plans[1].blocks)),
        masks=tuple(_masks(left.model, right.model)),
    )


def _choices(left: Any, right: Any, path: KeyPath = ()) -> Iterator[Choice]:
    """The values that differ, in the order of the sections; a side may lack a section."""
    if isinstance(left, dict) or isinstance(right, dict):
        ours, theirs = (side if isinstance(side, dict) else {} for side in (left, right))
        for key in ours | theirs:
            yield from _choices(ours.get(key), theirs.get(key), (*path, key))
    elif left != right:
        yield Choice(dotted(path), left, right)


def _meaning(blueprint: Blueprint) -> dict[str, Any]:
    return blueprint.model_dump(by_alias=True, exclude={"transom", "name", "description"})


def _sizes(left: tuple[Block, ...], right: tuple[Block, ...]) -> Iterator[Size]:
    ours, theirs = ({block.name: block for block in side} for side in (left, right))
    for name in [*ours, *(name for name in theirs if name not in ours)]:
        before, after = ours.get(name), theirs.get(name)
        if before is None or after is None or _size(before) != _size(after):
            yield Size(name, before, after)


def _size(block: Block) -> tuple[Amount, str]:
    return block.parameters, block.tied_to


def _masks(left: Model, right: Model) -> Iterator[Sight]:
    stacks = (("encoder", left.encoder, right.encoder), ("decoder", left.decoder, right.decoder))
    for name, *sides in stacks:
        before, after = (draw_stack(name, stack) for stack in sides)
        if before != after:
            yield Sight(name, before, after)
