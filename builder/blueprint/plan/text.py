"""A plan into lines of text that fit on a narrow page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.generation import Beam, Strategy
from builder.blueprint.plan import Plan
from builder.blueprint.plan.blocks import Block
from builder.blueprint.plan.drawing import Drawing
from builder.blueprint.plan.duration import Duration
from builder.blueprint.plan.flops import TRAINING, Flops
from builder.blueprint.summary import describe_generation, describe_stack
from builder.errors import printable
from builder.wording import counted

WIDTH = 100
"""Columns."""
LABEL = 26
"""Columns of what a line is about."""
GAP = 4
"""Columns between two pictures."""
NO_BREAK = "\N{NO-BREAK SPACE}"


def describe(blueprint: Blueprint, plan: Plan) -> Iterator[str]:
    """What a blueprint says and everything that its plan holds, from the whole to the detail."""
    sections = (
        _head(blueprint),
        _choices(blueprint),
        _blocks(plan),
        _totals(plan, blueprint.generation),
        _file(plan, blueprint.export.precision.kind),
        _memory(plan),
        _duration(plan.duration),
        _masks(plan.masks),
        _shapes(plan.blocks),
    )
    filled = [lines for section in sections if (lines := list(section))]
    for number, lines in enumerate(filled):
        yield from ["", *lines] if number else lines


def _head(blueprint: Blueprint) -> Iterator[str]:
    for line in (blueprint.name, *blueprint.description.splitlines()):
        yield from wrap(printable(line), WIDTH)


def _choices(blueprint: Blueprint) -> Iterator[str]:
    yield from _labelled("encoder", describe_stack(blueprint.model.encoder))
    yield from _labelled("decoder", describe_stack(blueprint.model.decoder))
    yield from _labelled("generation", describe_generation(blueprint.generation))


def _blocks(plan: Plan) -> Iterator[str]:
    """One line for each block: its layers, its parameters, its operations for each token."""
    columns = ("layers", "parameters", "FLOPs / source token", "/ target token")
    rows = [("", *columns), *(_row(block, plan.flops_by_block) for block in plan.blocks)]
    label = max(LABEL, 2 + max(len(block.name) for block in plan.blocks))
    widths = [max(len(row[column]) for row in rows) for column in range(1, len(columns) + 1)]
    for name, *cells in rows:
        text = "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        yield f"{name:<{label}}{text}".rstrip()


def _row(block: Block, flops_by_block: Mapping[str, Flops]) -> tuple[str, ...]:
    flops = flops_by_block.get(block.name, Flops())
    return (
        block.name,
        _layers(block),
        f"= {block.tied_to}" if block.tied_to else str(block.parameters),
        *(amount.short() if amount else "" for amount in (flops.source, flops.target)),
    )


def _layers(block: Block) -> str:
    """How many layers there are, and if they share their weights."""
    if block.uses == 1:
        return ""
    return str(block.uses) if block.copies == block.uses else f"{block.uses} sharing"


def _totals(plan: Plan, strategy: Strategy) -> Iterator[str]:
    lengths, training = plan.lengths, plan.flops * TRAINING
    yield from _labelled("parameters", str(plan.parameters))
    yield from _labelled(
        "FLOPs, forward",
        f"{_by_token(plan.flops)}, in pairs of {lengths.source:,} + {lengths.target:,} tokens; "
        "a multiply-add counts as 2",
    )
    yield from _labelled("FLOPs, training", _by_token(training))
    beams = f" of each of {strategy.beams:,} beams" if isinstance(strategy, Beam) else ""
    yield from _labelled(
        "key-value cache",
        f"{plan.cache.per_target_token:,} bytes for each target token{beams}, "
        f"{plan.cache.per_source_token:,} for each source token",
    )


def _by_token(flops: Flops) -> str:
    return f"{flops.source.short()} for each source token, {flops.target.short()} for each target"


def _file(plan: Plan, chosen: str) -> Iterator[str]:
    yield from _labelled("weights in the ONNX file", "shared ones once")
    for precision, size in plan.file.items():
        mark = ", as `export.precision` says" if precision == chosen else ""
        yield from _labelled(f"  {precision}", size.short("B") + mark)


def _memory(plan: Plan) -> Iterator[str]:
    """What training takes, and for which batch."""
    batch = plan.batch
    pairs = counted(batch.pairs, "pair")
    pairs = f"{pairs} of {batch.source:,} + {batch.target:,} tokens at once"
    yield from _labelled("training memory", f"about {plan.memory.total.short('B')}, with {pairs}")
    for name, size in plan.memory.parts().items():
        yield from _labelled(f"  {name}", size.short("B"))


def _duration(duration: Duration | None) -> Iterator[str]:
    if duration is None:
        return
    text = f"{duration.tokens_per_second:,.0f} target tokens per second"
    if duration.seconds is not None and duration.updates is not None:
        text = f"about {_clock(duration.seconds)} for {duration.updates:,.0f} updates, at {text}"
    yield from _labelled("training time", text)
    ratio = f"{duration.flops_ratio:.3g} times the FLOPs per target token of that run"
    yield from _labelled("", f"{ratio}; assumed: {', '.join(duration.assumed)}")


def _clock(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{seconds / 60:.2g} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes:02} min"


def _masks(masks: Sequence[Drawing]) -> Iterator[str]:
    """The pictures side by side, as many as fit."""
    yield "masks: each row may attend to the columns marked ■, padding apart"
    captions = [[line for text in mask.caption for line in wrap(text, WIDTH)] for mask in masks]
    height = max(map(len, captions))
    beside: list[list[str]] = []
    for mask, caption in zip(masks, captions, strict=True):
        blank = [""] * (height - len(caption))
        column = [*caption, *blank, *(" ".join(row) for row in mask.rows)]
        if beside and sum(map(_width, [*beside, column])) - GAP > WIDTH:
            yield from [*_side_by_side(beside), ""]
            beside = []
        beside.append(column)
    yield from _side_by_side(beside)


def _side_by_side(columns: Sequence[Sequence[str]]) -> Iterator[str]:
    for lines in zip(*columns, strict=True):
        pairs = zip(lines, columns, strict=True)
        yield "".join(f"{line:<{_width(column)}}" for line, column in pairs).rstrip()


def _width(column: Sequence[str]) -> int:
    return max(map(len, column)) + GAP


def _shapes(blocks: Iterable[Block]) -> Iterator[str]:
    """The shape of every tensor of one layer."""
    yield "shapes: matrices are input×output, tables rows×width"
    for block in blocks:
        shapes = (
            f"{name}{NO_BREAK}{'×'.join(map(str, shape))}" for name, shape in block.shapes.items()
        )
        yield from _labelled(block.name, ", ".join(shapes))


def _labelled(label: str, text: str) -> list[str]:
    """A label and its text, wrapped into a column of its own."""
    line = f"{label:<{LABEL - 1}} {text}"
    lines = wrap(line, WIDTH, subsequent_indent=" " * LABEL, break_on_hyphens=False)
    return [line.replace(NO_BREAK, " ") for line in lines]
