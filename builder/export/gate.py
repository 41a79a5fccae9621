"""The gate of reduced precision: what a file of fewer bits may cost, and what goes back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import onnx_ir as ir

from builder.errors import ProofFailure
from builder.export import damage
from builder.export.damage import Feed
from builder.export.precision import Form, Report, candidates, reduce
from builder.export.side_data import Content, Drafts
from builder.text.control import EOS_ID

MOST_BACK = 0.5
"""The largest share of bytes that may go back to float32; a file of more is none of fewer bits."""
PERIODS = (1, 2, 3, 4)
REPEATS = 4
REPEATED_TOKENS = 8
COLLAPSED_SHARE = 0.02
COLLAPSED_LINES = 2
SHOWN = 4
"""Names in a line."""
LOW_AGREEMENT = 0.9
"""Below this share of equal tokens a warning is due, whatever the metric says."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """What a file gives for the lines of the proof."""

    score: float
    """Of the task's metric, in points; more is better (of an error rate, 100 less it)."""
    outputs: list[list[int]]
    """The best target of every line, EOS included where it was reached."""


Judge = Callable[[Content], Outcome]


class Bound(NamedTuple):
    """What a file of fewer bits is held to."""

    judge: Judge
    feeds: Sequence[Feed]
    """Inputs on which the damage to weights is measured."""
    max_drop: float
    """The points that it may cost."""


@dataclass(frozen=True)
class Verdict:
    """How a file of fewer bits came out beside the one in float32."""

    report: Report
    float32_score: float
    score: float
    agreement: float
    """The share of tokens that are those of the float32 file, at their places."""
    collapsed: int
    """Lines that go round in circles or never end."""
    float32_collapsed: int
    lines: int

    @property
    def drop(self) -> float:
        """The points that it costs."""
        return self.float32_score - self.score

    def passes(self, max_drop: float) -> bool:
        """Tell whether score and endings are good enough."""
        more = self.collapsed - self.float32_collapsed
        allowed = max(COLLAPSED_LINES, COLLAPSED_SHARE * self.lines)
        return self.drop <= max_drop and more <= allowed

    def summary(self) -> dict[str, object]:
        """Return what the file tells of it."""
        return {
            "form": self.report.form,
            "score": self.score,
            "float32_score": self.float32_score,
            "agreement": self.agreement,
            "lines": self.lines,
            "kept": list(self.report.kept),
        }

    def __str__(self) -> str:
        text = (
            f"{self.score:.2f} points, {self.float32_score:.2f} in float32; "
            f"{self.agreement:.1%} of the tokens are the same"
        )
        if self.collapsed > self.float32_collapsed:
            more = f"{self.collapsed} of {self.lines} lines repeat themselves or do not end"
            text += f"; {more}, {self.float32_collapsed} in float32"
        if self.report.kept:
            names = list(self.report.kept)
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            text += f"; {self.report.kept_share:.1%} of the weights stay in float32: "
            text += ", ".join(names[:SHOWN]) + more
        return text


def narrow(
    file: Content, form: Form, *, bound: Bound, room: Drafts, say: Say = lambda _: None
) -> tuple[ir.Model, Content, Verdict]:
    """Return the graph of `file` in fewer bits, such that it keeps within `bound`, as a file too.

    If it costs more with all of its weights rounded, those that rounding damages most go back to
    float32: one, two, four and so on, until the file passes. `say` is told of each attempt.

    Raises:
        ProofFailure: Nothing passes.
    """
    exact = bound.judge(file)
    tries: list[Verdict] = []
    for keep in _keeps(file, form, bound.feeds, room):
        graph = file.parsed()
        report = reduce(graph, form, keep)
        candidate = room.content(graph)
        verdict = _compare(report, exact, bound.judge(candidate))
        say(f"{form}: {verdict}")
        if verdict.passes(bound.max_drop):
            if verdict.agreement < LOW_AGREEMENT:
                say(f"warning: only {verdict.agreement:.1%} of the tokens are those of float32")
            return graph, candidate, verdict
        tries.append(verdict)
    raise ProofFailure(_refusal(form, tries, bound.max_drop))


def _refusal(form: Form, tries: Sequence[Verdict], max_drop: float) -> str:
    attempts = "\n".join(f"  {verdict}" for verdict in tries)
    return (
        f"{form} costs more than {max_drop:g} points, or its outputs do not end, whichever weights "
        f"stay in float32: the file is not written\n{attempts}"
    )


def _keeps(file: Content, form: Form, feeds: Sequence[Feed], room: Drafts) -> Iterator[list[str]]:
    """What to leave in float32: nothing, then more and more of what is damaged most."""
    yield []
    graph = file.parsed()
    sizes = candidates(graph, form)
    ranks = (
        damage.of_halves(graph)
        if form == "float16"
        else damage.of_products(graph, form, feeds, room)
    )
    left = MOST_BACK * sum(sizes.values())
    back = []
    for name in sorted(sizes, key=lambda name: ranks.get(name, math.inf), reverse=True):
        if sizes[name] <= left:
            left -= sizes[name]
            back.append(name)
    count = 1
    while 2 * count <= len(back):
        yield back[:count]
        count *= 2
    if back:
        yield back


def _compare(report: Report, exact: Outcome, outcome: Outcome) -> Verdict:
    return Verdict(
        report,
        exact.score,
        outcome.score,
        agreement(outcome.outputs, exact.outputs),
        sum(map(has_collapsed, outcome.outputs)),
        sum(map(has_collapsed, exact.outputs)),
        len(exact.outputs),
    )


def agreement(outputs: Sequence[Sequence[int]], expected: Sequence[Sequence[int]]) -> float:
    """Return the share of tokens that are the same at the same place, of the longer outputs."""
    pairs = list(zip(outputs, expected, strict=True))
    same = sum(a == b for ours, theirs in pairs for a, b in zip(ours, theirs, strict=False))
    whole = sum(max(len(ours), len(theirs)) for ours, theirs in pairs)
    return same / whole if whole else 1.0


def has_collapsed(ids: Sequence[int]) -> bool:
    """Tell whether an output goes round in circles or ran into its limit.

    Circles are one to four tokens that stand at least four times in a row, eight tokens or more.
    """
    if not ids or ids[-1] != EOS_ID:
        return True
    return any(_repeats(ids, period) for period in PERIODS)


def _repeats(ids: Sequence[int], period: int) -> bool:
    needed = max(REPEATED_TOKENS, REPEATS * period) - period
    run = 0
    for before, token in zip(ids, ids[period:], strict=False):
        run = run + 1 if before == token else 0
        if run >= needed:
            return True
    return False
