"""`transom data`: what a model will see of its data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from builder.wording import counted
from cli.options import BlueprintArgument, Json, Overrides
from cli.streams import note, write_results

if TYPE_CHECKING:
    from builder.inspection import Inspection, Side, Split

UNUSABLE = 2
"""Exit code where `train` would refuse the data, as it does itself."""


def data(
    blueprint: BlueprintArgument,
    set_: Overrides = None,
    samples: Annotated[int, typer.Option(min=0, help="Samples to show.")] = 5,
    as_json: Json = False,
) -> None:
    """Read a blueprint's data; print what the model will see: counts, lengths, unknowns, pieces."""
    from builder.blueprint.load import load_blueprint
    from builder.doubts import find_doubts
    from builder.inspection import inspect_data

    loaded = load_blueprint(blueprint, set_ or ())
    seen = inspect_data(loaded, samples=samples, file=blueprint)
    doubts = find_doubts(loaded, seen)
    if as_json:
        write_results([json.dumps(seen.as_dict() | {"warnings": doubts}, ensure_ascii=False)])
    else:
        write_results(_report(seen))
    for doubt in doubts:
        note(f"warning: {doubt}")
    if not seen.is_usable:
        raise typer.Exit(UNUSABLE)


def _report(seen: Inspection) -> Iterator[str]:
    for split in seen.splits:
        yield from _split(split)
    source, target = seen.vocabulary["source"], seen.vocabulary["target"]
    yield (
        f"vocabulary: {source:,} rows for both sides"
        if seen.shared
        else f"vocabulary: source {source:,} rows, target {target:,} rows"
    )
    if seen.batches is not None:
        padding = 100 * seen.batches.padding
        updates = counted(seen.batches.updates, "update")
        yield f"batches: {updates} an epoch, {padding:.1f} % padding"
    for sample in seen.samples:
        yield ""
        yield _cut(sample.source, sample.source_pieces)
        yield _cut(sample.target, sample.target_pieces)


def _split(split: Split) -> Iterator[str]:
    from builder.errors import printable

    yield f"{split.name}: {counted(split.pairs, 'pair')} from {split.origin}"
    if split.note:
        yield f"  {printable(split.note)}"
    if split.dropped:
        dropped = ", ".join(f"{count:,} {reason}" for reason, count in split.dropped.items())
        yield f"  left out: {dropped}"
    if split.source and split.target:
        yield f"  source: {_side(split.source)}"
        yield f"  target: {_side(split.target)}"


def _side(side: Side) -> str:
    return (
        f"median {counted(side.median, 'token')}, 95 % at most {side.most:,}, "
        f"longest {side.longest:,}; unknown {100 * side.unknown:.2f} %"
    )


def _cut(line: str, pieces: list[str]) -> str:
    """A line and its pieces; spaces in them are made visible."""
    from builder.errors import printable
    from builder.text.control import CONTROL_NAMES

    shown = [p.strip() if p in CONTROL_NAMES else p.replace(" ", "␣") for p in pieces]
    return f"{printable(line)}  =  {printable(' '.join(shown))}"
