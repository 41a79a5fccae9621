"""Attention masks into small pictures in text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

from builder.blueprint.model import Causal, Full, Mask, Model, Window

SIZE = 12
"""Rows and columns of a picture."""
REACH = 8
"""The most cells that a window takes on one side."""
SEEN, UNSEEN = "■", "·"


@dataclass(frozen=True)
class Drawing:
    """Who may attend to whom: queries downwards, keys to the right, the first token top left."""

    stacks: tuple[str, ...]
    """The stacks that use this mask."""
    before: int | None
    """Neighbours seen on the left of each position; None for all."""
    after: int | None
    """Neighbours seen on the right; None for all."""
    step: int
    """Tokens from one cell to the next: above 1 where a window is too wide for the picture."""
    rows: tuple[str, ...]

    @property
    def caption(self) -> tuple[str, str]:
        """Whose mask it is, and the mask in words."""
        name = "full" if self.after is None else "causal"
        if self.before is not None:
            name = f"window {self.before:,} before, {self.after:,} after"
        scale = f"; a cell is {self.step:,} tokens" if self.step > 1 else ""
        return " and ".join(self.stacks) + scale, name

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "stacks": list(self.stacks),
            "before": self.before,
            "after": self.after,
            "step": self.step,
            "rows": list(self.rows),
        }


def draw_masks(model: Model) -> tuple[Drawing, ...]:
    """Each mask of self-attention that differs from the others; padding is not drawn."""
    before, _ = _sides(model.decoder.mask)
    sides = {"encoder": _sides(model.encoder.mask), "decoder": (before, 0)}
    return tuple(
        _draw(tuple(name for name, one in sides.items() if one == side), *side)
        for side in dict.fromkeys(sides.values())
    )


def _sides(mask: Mask) -> tuple[int | None, int | None]:
    match mask:
        case Full():
            return None, None
        case Causal():
            return None, 0
        case Window(before=before, after=after):
            return before, after
        case unreachable:
            assert_never(unreachable)


def _draw(stacks: tuple[str, ...], before: int | None, after: int | None) -> Drawing:
    step = max(1, -(-max(before or 0, after or 0) // REACH))

    def cell(query: int, key: int) -> str:
        distance = (key - query) * step
        seen = (before is None or distance >= -before) and (after is None or distance <= after)
        return SEEN if seen else UNSEEN

    rows = tuple("".join(cell(query, key) for key in range(SIZE)) for query in range(SIZE))
    return Drawing(stacks, before, after, step, rows)
