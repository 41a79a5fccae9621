"""Two trained models, every strategy, the same inputs: does the file write what PyTorch does?"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from builder.blueprint.load import load_blueprint
from builder.data.pairs import Pairs
from builder.dataset import read_pairs
from builder.export.export import export_run
from builder.export.lines import BATCH_TOKENS, Batch
from builder.export.proof import Proof, compare_outputs
from builder.export.side_data import Content
from builder.generate import Generator, pad
from builder.run import BLUEPRINT, LOG, Run
from builder.text.batches import by_length
from builder.text.prefix import padded
from frame import data_folder, finish, print_table, refuse, transom

DATA_SET = "wikidata_translit"
STRATEGIES = {
    "greedy": ["kind=greedy"],
    "beam": ["kind=beam", "beams=4", "n_best=4"],
    "sampling": ["kind=sampling", "temperature=0.9", "top_k=20", "top_p=0.9", "n_best=2"],
}
RULES = ["no_repeat_ngram_size=2", "suppress_unknown=true", "target_prefix=true"]
OWN_RULES = {
    "dates": ['suppress_tokens=["9"]', "min_length=13"],
    "katakana": ['suppress_tokens=["ー"]', "min_length=9"],
}
"""A token that models like to write is barred, and outputs are longer than they would be."""
PREFIX_TOKENS = 2
"""Of the right answer: what the output of every second line begins with, under the rules."""


@dataclass(frozen=True)
class Row:
    """How one file came out."""

    model: str
    strategy: str
    ruled: bool
    updates: int
    """Of the training."""
    proof: Proof
    seconds: float

    @property
    def different(self) -> int:
        """Lines that neither are equal nor part by a near tie."""
        return self.proof.lines - self.proof.equal - self.proof.near_ties


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="lines of each model")
    parser.add_argument("--minutes", type=float, default=1.0, help="of training, for each model")
    parser.add_argument("--models", nargs="+", choices=OWN_RULES, default=list(OWN_RULES))
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=list(STRATEGIES))
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the runs; use those there")
    options = parser.parse_args()
    if options.count < 1 or options.minutes <= 0:
        refuse("--count and --minutes are positive")
    data = data_folder(DATA_SET).parent if "katakana" in options.models else Path()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.keep or Path(temporary)).absolute()
        rows = [
            row
            for name in options.models
            for row in measure(name, folder, data, options.minutes, options)
        ]
    report(rows)


def measure(
    name: str, folder: Path, data: Path, minutes: float, options: argparse.Namespace
) -> Iterator[Row]:
    """Train a model, export it for each strategy without and with rules, and compare."""
    run = folder / name
    if not run.is_dir():
        timed = [f"training.minutes={minutes}", "training.validate.every=1000000"]
        flags = [part for override in timed for part in ("--set", override)]
        transom("train", name, "--out", run, *flags, cwd=data)
    pairs = test_pairs(run, options.count)
    for strategy, ruled in itertools.product(options.strategies, (False, True)):
        started = time.perf_counter()
        rules = [*RULES, *OWN_RULES[name]] if ruled else []
        asked = [f"generation.{override}" for override in [*STRATEGIES[strategy], *rules]]
        print(f"{name}, {strategy}{', with rules' * ruled}", file=sys.stderr, flush=True)
        proof = compare(run, folder / f"{name}.onnx", asked, pairs)
        yield Row(name, strategy, ruled, updates(run), proof, time.perf_counter() - started)


def updates(run: Path) -> int:
    """How far a run was trained, as its log tells."""
    lines = (run / LOG).read_text("utf-8").split("\n")  # texts hold other separators
    return max(json.loads(line).get("step", 0) for line in lines if line)


def test_pairs(run: Path, count: int) -> Pairs:
    """The first pairs of a run's test data, which training has not seen."""
    data = Run.open(run).blueprint.data
    if data is None:
        raise RuntimeError(f"{run}: its blueprint names no data")
    pairs = read_pairs(data, "test")
    return Pairs(pairs.sources[:count], pairs.targets[:count])


def compare(run: Path, file: Path, overrides: Sequence[str], pairs: Pairs) -> Proof:
    """Export a run with overrides, and let the file and PyTorch write for the same lines."""
    export_run(run, out=file, overrides=overrides)
    opened = Run(run, load_blueprint(run / BLUEPRINT, overrides))
    tokenizers = (opened.source_tokenizer, opened.target_tokenizer)
    generator = Generator.of(opened.load_model(), tokenizers, opened.blueprint.generation)
    return compare_outputs(generator, Content(file.read_bytes()), list(batches(generator, pairs)))


def batches(generator: Generator, pairs: Pairs) -> Iterator[Batch]:
    """The sources in groups of like length; every second line begins as its answer does."""
    sources = generator.source.encode(pairs.sources)
    targets = generator.target.encode(pairs.targets)
    begun = [ids[:-1][:PREFIX_TOKENS] if row % 2 else [] for row, ids in enumerate(targets)]
    longest: dict[str, int | float] = {"max_length": 512}
    for group in by_length([len(ids) for ids in sources], batch_tokens=BATCH_TOKENS):
        prefix = torch.tensor(padded([begun[row] for row in group]))
        ids = pad([sources[row] for row in group])
        yield Batch(ids, longest, prefix if generator.takes_prefix else None)


def report(rows: Sequence[Row]) -> None:
    """Print the table and the figures."""
    print_table(
        ["model", "strategy", "rules", "lines", "equal", "near ties", "different", "varied"],
        [
            [
                *(row.model, row.strategy, "yes" if row.ruled else "no", row.proof.lines),
                *(row.proof.equal, row.proof.near_ties, row.different, row.proof.varied),
            ]
            for row in rows
        ],
    )
    finish(
        {
            "equal": sum(row.proof.equal for row in rows),
            "near_ties": sum(row.proof.near_ties for row in rows),
            "count": sum(row.proof.lines for row in rows),
            "scores_difference": max(row.proof.scores_difference for row in rows),
            "rows": [
                {
                    "model": row.model,
                    "strategy": row.strategy,
                    "rules": row.ruled,
                    "updates": row.updates,
                    "equal": row.proof.equal,
                    "near_ties": row.proof.near_ties,
                    "count": row.proof.lines,
                    "varied": row.proof.varied,
                    "seconds": round(row.seconds, 1),
                }
                for row in rows
            ],
        }
    )


if __name__ == "__main__":
    main()
