"""Attention masks into small pictures in text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never

from builder.blueprint.model import (
    Block,
    Causal,
    Decoder,
    Encoder,
    Full,
    Mask,
    Model,
    Prefix,
    Window,
)
from builder.blueprint.plan.blocks import spoken
from builder.blueprint.section import at_layer

SIZE = 12
"""Rows and columns of a picture."""
REACH = 8
"""The most cells that a window takes on one side."""
SEEN, UNSEEN = "■", "·"


@dataclass(frozen=True)
class Drawing:
    """Who may attend to whom: queries downwards, keys to the right, the first token top left."""

    stacks: tuple[str, ...]
    """The stacks that use this mask, with their layers where not all do."""
    mask: str
    """The mask in words."""
    step: int
    """Tokens from one cell to the next: above 1 where a mask is too wide for the picture."""
    rows: tuple[str, ...]

    @property
    def caption(self) -> tuple[str, str, str]:
        """Whose mask it is, the mask in words, and the size of a cell."""
        scale = f"a cell is {self.step:,} tokens" if self.step > 1 else ""
        return " and ".join(self.stacks), self.mask, scale

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "stacks": list(self.stacks),
            "mask": self.mask,
            "step": self.step,
            "rows": list(self.rows),
        }


def draw_masks(model: Model) -> tuple[Drawing, ...]:
    """Each mask of self-attention that differs from the others; padding is not drawn."""
    drawings = [*draw_stack("encoder", model.encoder), *draw_stack("decoder", model.decoder)]
    stacks: dict[Drawing, tuple[str, ...]] = {}
    for drawing in drawings:
        alike = replace(drawing, stacks=())
        stacks[alike] = (*stacks.get(alike, ()), *drawing.stacks)
    return tuple(replace(drawing, stacks=names) for drawing, names in stacks.items())


def draw_stack(name: str, stack: Encoder | Decoder) -> tuple[Drawing, ...]:
    """Each mask of one stack, with the layers that use it where they are not all."""
    masks = [_effective(at_layer(stack.mask, layer), stack) for layer in range(stack.layers)]
    distinct = list(dict.fromkeys(masks))
    is_causal = isinstance(stack, Decoder)
    if len(distinct) == 1:
        return (draw(distinct[0], (name,), is_causal=is_causal),)
    users = {mask: [i for i, each in enumerate(masks) if each == mask] for mask in distinct}
    return tuple(
        draw(mask, (f"{name} {spoken(layers)}",), is_causal=is_causal)
        for mask, layers in users.items()
    )


def draw(mask: Mask, stacks: Sequence[str] = (), *, is_causal: bool = False) -> Drawing:
    """The picture of one mask; `is_causal` hides what lies ahead, as every decoder does."""
    step = max(1, -(-_reach(mask) // REACH))

    def cell(query: int, key: int) -> str:
        seen = sees(mask, query * step, key * step) and (key <= query or not is_causal)
        return SEEN if seen else UNSEEN

    rows = tuple("".join(cell(query, key) for key in range(SIZE)) for query in range(SIZE))
    return Drawing(tuple(stacks), in_words(mask), step, rows)


def sees(mask: Mask, query: int, key: int) -> bool:
    """Whether the token at `query` may attend to the one at `key`."""
    match mask:
        case Full():
            return True
        case Causal():
            return key <= query
        case Window(before=before, after=after, global_tokens=everyone):
            return -before <= key - query <= after or min(query, key) < everyone
        case Block(size=size):
            return query // size == key // size
        case Prefix(length=length):
            return key <= query or max(query, key) < length
        case unreachable:
            assert_never(unreachable)


def in_words(mask: Mask) -> str:
    """The mask and its sizes."""
    match mask:
        case Full() | Causal():
            return mask.kind
        case Window(before=before, after=after, global_tokens=everyone):
            seen = f", {everyone:,} global" if everyone else ""
            return f"window {before:,} before, {after:,} after{seen}"
        case Block(size=size):
            return f"block of {size:,}"
        case Prefix(length=length):
            return f"prefix of {length:,}"
        case unreachable:
            assert_never(unreachable)


def _effective(mask: Mask, stack: Encoder | Decoder) -> Mask:
    """What is left of a mask in its stack: a decoder never looks ahead."""
    match mask:
        case Full() if isinstance(stack, Decoder):
            return Causal(kind="causal")
        case _:
            return mask


def _reach(mask: Mask) -> int:
    """The tokens that a picture has to show on one side."""
    match mask:
        case Full() | Causal():
            return 0
        case Window(before=before, after=after, global_tokens=everyone):
            return max(before, after, everyone)
        case Block(size=size):
            return size
        case Prefix(length=length):
            return length
        case unreachable:
            assert_never(unreachable)
