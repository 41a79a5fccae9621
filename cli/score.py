"""`transom score`: pairs in, how likely the model finds each target out."""

from __future__ import annotations

import json
from math import exp, inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from builder.wording import counted
from cli.options import Json, Model, Threads
from cli.streams import note, write_results

if TYPE_CHECKING:
    from builder.text.output import Scored


def score(
    model: Model,
    source: Annotated[Path, typer.Option(metavar="FILE", help="Source lines.")],
    target: Annotated[Path, typer.Option(metavar="FILE", help="Their targets, line by line.")],
    as_json: Json = False,
    threads: Threads = None,
) -> None:
    """Write how likely a run or an exported file finds each target, given its source.

    One natural logarithm for each pair. An ONNX file must have been exported with --set
    generation.target_prefix=true.
    """
    from builder.scoring import score_files
    from builder.text.unknown import UnknownPieces

    scores, tokens, read = 0.0, 0, 0
    writer, portions = score_files(model, source, target, threads=threads)
    unknown = UnknownPieces(writer.target_tokenizer)
    for pairs, scored in portions:
        shown = (_as_json(*pair, one) for pair, one in zip(pairs, scored, strict=True))
        write_results(shown if as_json else (f"{one.log_prob:.4f}" for one in scored))
        unknown.look([other for _, other in pairs], first_line=read + 1)
        read += len(pairs)
        scores += sum(one.log_prob for one in scored)
        tokens += sum(one.length for one in scored)
    if tokens:
        perplexity = _perplexity(scores, tokens)
        note(f"{counted(read, 'pair')}, {tokens:,} tokens: perplexity {perplexity:.4g}")
    if unknown.count:
        note(f"warning: in the targets, {unknown.describe()}")


def _as_json(source: str, target: str, scored: Scored) -> str:
    """One object; JSON has no infinite number."""
    values = {**vars(scored), "perplexity": _perplexity(scored.log_prob, scored.length)}
    finite = {name: value if isfinite(value) else None for name, value in values.items()}
    return json.dumps({"source": source, "target": target, **finite}, ensure_ascii=False)


def _perplexity(log_prob: float, tokens: int) -> float:
    """The inverse of the geometric mean of the tokens' probabilities; 1 without tokens."""
    mean = log_prob / tokens if tokens else 0.0
    return exp(-mean) if -mean < 700 else inf
