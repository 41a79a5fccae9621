"""Valid blueprints damaged at random: is each refused, at the right line, with the right advice?"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from builder.blueprint.bundled import bundled_blueprints
from builder.blueprint.load import load_blueprint, parse_blueprint
from builder.blueprint.template import Draft, write_draft
from builder.blueprint.write import dump_blueprint
from builder.errors import BlueprintError
from damages import DAMAGES, Damaged, Entry, entries
from frame import finish, print_table

UNUSUAL = """
transom: 1
model:
  d_model: 96
  vocab_size: {source: 500, target: 700}
  attention:
    heads: 6
    d_k: 20
    bias: true
  positions: {kind: learned, max_length: 300}
  embeddings: {tie: target_output}
  encoder:
    layers: 7
    norm: {kind: rms_norm, placement: pre, eps: 1e-6}
    mask: {kind: window, before: 8, after: 8}
  decoder:
    positions: rotary
    feed_forward: {activation: swiglu, bias: false}
    cross_attention:
      heads: 3
tokenizer:
  source: {kind: word, vocab_size: 500}
  target: {kind: bpe, vocab_size: 700, lowercase: true}
data:
  train: {source: a.txt, target: b.txt}
  valid:
    path: valid.tsv
    columns: {source: english, target: german}
training:
  steps: 500
  microbatch_tokens: 1000
  schedule: {kind: inverse_sqrt, learning_rate: 1e-3, warmup: 50}
  clip: 1.0
  threads: 2
"""

ADVICE = re.compile("(?:did you mean|it is called|belongs in|write) `([^`]+)`")


@dataclass(frozen=True)
class Verdict:
    """What became of a damaged blueprint."""

    outcome: str
    """`right`, or what is wrong: `accepted`, `traceback`, `wrong line`."""
    advised: bool
    """Whether the first advice is the key that stood there."""
    messages: str


def judge(damaged: Damaged) -> Verdict:
    """Load it; right is where every message stands at the damaged line."""
    try:
        parse_blueprint(damaged.text, "damaged.yaml", name="damaged")
    except BlueprintError as error:
        lines = {problem.line for problem in error.problems}
        advice = ADVICE.search(str(error))
        advised = advice is not None and advice[1].split(".")[-1] == damaged.meant
        outcome = "right" if lines == {damaged.line} else "wrong line"
        return Verdict(outcome, advised, str(error))
    except Exception as error:  # noqa: BLE001 - this is what the benchmark looks for
        return Verdict("traceback", False, repr(error))
    return Verdict("accepted", False, "")


def blueprints() -> list[str]:
    """Valid blueprints: the bundled ones, as written and resolved, a new and an unusual one."""
    files = bundled_blueprints().values()
    texts = [path.read_text(encoding="utf-8") for path in files]
    texts += [dump_blueprint(load_blueprint(path)) for path in files]
    return [*texts, write_draft(Draft()), UNUSUAL.lstrip()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="damaged blueprints")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=0, help="print so many that fall short")
    options = parser.parse_args()
    draw = random.Random(options.seed)  # noqa: S311
    texts = [(text, entries(text)) for text in blueprints()]
    verdicts: dict[str, list[Verdict]] = defaultdict(list)
    for number in range(options.count):
        kind = list(DAMAGES)[number % len(DAMAGES)]
        damaged = damage(draw, kind, texts)
        verdict = judge(damaged)
        verdicts[kind].append(verdict)
        has_fault = verdict.outcome != "right" or (damaged.meant and not verdict.advised)
        if has_fault and options.show > 0:
            options.show -= 1
            show(kind, damaged, verdict)
    report(verdicts)


def damage(draw: random.Random, kind: str, texts: Sequence[tuple[str, list[Entry]]]) -> Damaged:
    """Damage one of the blueprints; another one where it has nothing that can be damaged so."""
    while True:
        try:
            return DAMAGES[kind](draw, *draw.choice(texts))
        except IndexError:
            continue


def show(kind: str, damaged: Damaged, verdict: Verdict) -> None:
    line = damaged.text.splitlines()[damaged.line - 1]
    print(f"--- {kind}, {verdict.outcome}; line {damaged.line} is damaged: {line}")
    if damaged.meant:
        print(f"    the key was {damaged.meant}")
    print(verdict.messages)


def report(verdicts: dict[str, list[Verdict]]) -> None:
    """Print the shares by kind, and all together."""
    every = [verdict for some in verdicts.values() for verdict in some]
    outcomes = Counter(verdict.outcome for verdict in every)
    typos = [v for kind, some in verdicts.items() if kind.startswith("typo of") for v in some]
    by_kind = {
        kind: {"count": len(some), "right_line": share([v.outcome == "right" for v in some])}
        for kind, some in verdicts.items()
    }
    print_table(
        ["damage", "blueprints", "right line", "first advice"],
        [[kind, *figures.values(), advised(verdicts[kind])] for kind, figures in by_kind.items()],
    )
    finish(
        {
            "right_line": share([verdict.outcome == "right" for verdict in every]),
            "count": len(every),
            "first_suggestion": share([verdict.advised for verdict in typos]),
            "accepted": outcomes["accepted"],
            "tracebacks": outcomes["traceback"],
            "foreign_advised": share([v.advised for v in verdicts["foreign name"]]),
            "by_kind": by_kind,
        }
    )


def advised(some: list[Verdict]) -> float | str:
    """The share whose first advice is the key that stood there; nothing where none did."""
    return share([v.advised for v in some]) if any(v.advised for v in some) else ""


def share(yes: list[bool]) -> float:
    return round(sum(yes) / len(yes), 4) if yes else 0.0


if __name__ == "__main__":
    main()
