"""Bundled blueprints beside the models that people use; writes docs/parity.md.

Runs tests/parity and tabulates what each test measured.
"""

from __future__ import annotations

import importlib.util
from collections import defaultdict
from importlib.metadata import version
from typing import Any

import pytest

from frame import ROOT, finish, print_table, refuse

PAGE = ROOT / "docs" / "parity.md"
HEADER = (
    *("model", "states, float32", "logits, float32"),
    *("states, float64", "logits, float64", "parameters"),
)
INTRODUCTION = """\
# Parity

What people use, beside what is built here: all weights of a model of `transformers` {transformers}
are drawn at random and copied into the network that a bundled blueprint builds, and both read the
same batches. Shown are the greatest absolute differences of any value at a real position, of the
encoder's states and of the decoder's logits, with `torch` {torch} on a CPU; 0 is bit for bit. At
most 1e-5 is allowed in float32, and 1e-10 in float64. The parameters are those of the whole
published size, equal on both sides.

"""
NOTES = """
## What is compared

- **The bundled blueprints themselves**, with sizes changed and nothing else: d_model 32, 4 heads,
  2 and 2 layers, d_ff 56, 60 tokens; in T5 d_k 12, and the output's scale, which is d_model^-0.5.
  The library's configuration has the published values with the same changes.
- **Weights**: every one drawn, norms and biases too, so that none is a plain 0 or 1. Both sides
  must have the same, by name and shape: nothing is left over on either.
- **Batches** of three rows: the longest, one half as long, and one of five tokens, with padding.
  T5, BART and mBART read 170 tokens, more than the 128 from which on T5 tells distances no longer
  apart; models with sinusoids read 40, since the angles of two implementations in float32 drift
  apart as positions grow.
- **Parameters** of the bundled blueprint as it stands and of the library's configuration of that
  size, shared ones once. Tables of sinusoids are not trained and do not count; the library keeps
  them among the frozen parameters (Marian, Pegasus) or the buffers (M2M100). Its
  `final_logits_bias` is a buffer: Marian's is trained and counts, and is `embeddings.output.bias`
  here; that of BART, mBART and Pegasus is zero and has no counterpart.
- **`torch.nn.Transformer`** has neither embeddings nor an output projection, and ends both stacks
  with a norm: `transformer-base` with attention biases and `norm.final`, whose own embeddings feed
  both. Its parameters are those of the two small stacks.

## What is left out

- The logits of padding and BOS, which are −inf here and never written; values at padding.
- Ids: padding is 0 and BOS 1 here, while the library's padding is 1 (BART, mBART, M2M100, NLLB) or
  the last one (Marian). Padding's id and id 0 change places, in the embeddings and the logits.
- What the library computes in float32 whatever the type of the weights: T5's norm, and the tables
  of sinusoids. In the columns of float64, and only there, they follow the same formulas in float64.
- T5 v1.1: the library ties the output projection to the embedding until it reads a checkpoint in
  which the two differ. They are parted here as in such a checkpoint.
- Training: T5 also drops values after each stack's last norm, M2M100 whole layers, and T5 draws its
  first weights by rules of its own. Evaluation knows none of these.

Written by `make bench NAME=parity_table`; measured by `tests/parity`, which is skipped, but for
`torch.nn.Transformer`, where `transformers` is not installed.
"""


class Figures:
    """What each test says that it measured, by its subject."""

    def __init__(self) -> None:
        self.of: dict[str, dict[str, Any]] = defaultdict(dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take over the properties of a test that has run."""
        figures = dict(report.user_properties)
        if report.when == "call" and "subject" in figures:
            self.of[str(figures.pop("subject"))].update(figures)


def main() -> None:
    if importlib.util.find_spec("transformers") is None:
        refuse("transformers: not installed; install it, or name a folder of it in PYTHONPATH")
    figures = Figures()
    arguments = ["-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}", str(ROOT / "tests/parity")]
    if pytest.main(arguments, plugins=[figures]):
        raise SystemExit(1)
    rows = [
        [
            subject,
            *(f"{value:.1g}" for value in (*found["float32"], *found["float64"])),
            f"{found['parameters']:,}",
        ]
        for subject, found in figures.of.items()
    ]
    print_table(HEADER, rows)
    versions = {name: version(name) for name in ("transformers", "torch")}
    lines = [HEADER, ["---", *["--:"] * (len(HEADER) - 1)], *rows]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    PAGE.write_text(INTRODUCTION.format(**versions) + table + NOTES, encoding="utf-8")
    finish({"transformers": versions["transformers"], "models": figures.of})


if __name__ == "__main__":
    main()
