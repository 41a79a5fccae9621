"""The same ten mistakes given to other toolkits and to us: what does each user see?"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from frame import ROOT, finish, print_table
from peers import FILES, MISTAKES, OURS, PEERS, TORCH, Tool

PAGE = ROOT / "docs" / "errors-compared.md"
INSTALL_S, RUN_S = 600, 180
LONGEST = 300
"""Characters of a message that the page quotes."""
INTRODUCTION = """\
# Errors compared

The same ten mistakes, one at a time, in the configuration of a small network: what does a user see
first? Made by `make bench NAME=peer_errors`, which installs {versions};
the files stand in `benchmarks/peers.py`. Transom's go to `transom check`; JoeyNMT and Eole have no
such command and are told to train; of transformers, a `config.json` is turned into a model. Of a
traceback, its end is shown.
"""
IMPOSSIBLE = "(no such mistake can be made in its file)"


@dataclass(frozen=True)
class Answer:
    """What a user of a tool sees."""

    outcome: str
    """`told`, `traceback`, `silent`, `endless` or `impossible`."""
    message: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--venv", type=Path, metavar="DIR", help="keep the toolkits in this folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        programs = (options.venv or Path(folder) / "peers").absolute() / "bin"
        failed = install(programs)
        tools = [OURS, *(peer for peer in PEERS if peer.name not in failed)]
        places = {tool.name: Path(sys.executable).parent if tool is OURS else programs
                  for tool in tools}  # fmt: skip
        for tool in tools:
            answer = ask(tool, tool.text, places[tool.name])
            if answer.outcome != "silent":
                failed[tool.name] = f"refuses a file that is right: {answer.message}"
        tools = [tool for tool in tools if tool.name not in failed]
        answers = {
            mistake: {tool.name: attempt(tool, mistake, places[tool.name]) for tool in tools}
            for mistake in MISTAKES
        }
    PAGE.write_text(page(tools, answers, failed), encoding="utf-8")
    report(tools, answers, failed)


def install(programs: Path) -> dict[str, str]:
    """Install the toolkits where they are not yet; tell why for those that cannot be."""
    python = programs / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", programs.parent], check=True)
        pip(python, [TORCH])
    reasons = {}
    for peer in PEERS:
        problem = pip(python, peer.needs) or pip(python, ["--no-deps", *peer.packages])
        if problem:
            reasons[peer.name] = f"does not install: {problem}"
    return reasons


def pip(python: Path, arguments: Sequence[str]) -> str:
    """Install packages; the reason where that fails."""
    print(f"$ pip install {' '.join(arguments)}", file=sys.stderr, flush=True)
    command = [python, "-m", "pip", "install", "--quiet", *arguments]
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=INSTALL_S
        )
    except subprocess.TimeoutExpired:
        return f"not done after {INSTALL_S} s"
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def attempt(tool: Tool, mistake: str, programs: Path) -> Answer:
    """Give a tool a file with one mistake."""
    edit = MISTAKES[mistake].get(tool.name)
    if edit is None:
        return Answer("impossible", IMPOSSIBLE)
    old, new = edit
    if old not in tool.text:
        raise RuntimeError(f"{tool.name}: nothing to replace: {old}")
    return ask(tool, tool.text.replace(old, new, 1), programs)


def ask(tool: Tool, text: str, programs: Path) -> Answer:
    """Run a tool on the text of its file, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in {**FILES, tool.file: text}.items():
            (Path(folder) / name).write_text(content, encoding="utf-8")
        command = [programs / tool.command[0], *tool.command[1:]]
        print(f"{tool.name} …", file=sys.stderr, flush=True)
        try:
            done = subprocess.run(
                command, check=False, cwd=folder, capture_output=True, text=True, timeout=RUN_S
            )
        except subprocess.TimeoutExpired:
            return Answer("endless", f"(still running after {RUN_S} s)")
    if done.returncode == 0:
        return Answer("silent", "(nothing: it builds a network and exits with 0)")
    shown = (done.stderr or done.stdout).replace(f"{folder}/", "")
    if "Traceback" in shown:
        return Answer("traceback", exception(shown.splitlines()))
    return Answer("told", shown.strip().splitlines()[0])


def exception(lines: list[str]) -> str:
    """What a traceback ends in, on one line, with the number of lines before it."""
    last = max(number for number, line in enumerate(lines) if line.startswith("  File "))
    begin = next(n for n in range(last + 1, len(lines)) if re.match(r"[\w.]+(:|$)", lines[n]))
    text = " ".join(" ".join(lines[begin:]).split())
    shown = f"{text[:LONGEST]} …" if len(text) > LONGEST else text
    return f"{shown} (after {begin} lines of traceback)"


def page(tools: list[Tool], answers: dict[str, dict[str, Answer]], failed: dict[str, str]) -> str:
    """The comparison as Markdown."""
    versions = ", ".join(" ".join(tool.packages).replace("==", " ") for tool in tools[1:])
    lines = [INTRODUCTION.format(versions=versions).rstrip("\n")]
    lines += [f"\n{name} {reason}." for name, reason in failed.items()]
    for number, (mistake, by_tool) in enumerate(answers.items(), start=1):
        lines += ["", f"## {number}. {mistake}", ""]
        for tool in tools:
            answer = by_tool[tool.name]
            is_quote = answer.outcome in ("told", "traceback")
            message = answer.message.replace("`", "'") if is_quote else answer.message
            lines.append(f"- **{tool.name}**: " + (f"`{message}`" if is_quote else message))
    return "\n".join(lines) + "\n"


def report(
    tools: list[Tool], answers: dict[str, dict[str, Answer]], failed: dict[str, str]
) -> None:
    """Print how often each tool tells, throws, or says nothing."""
    outcomes = ("told", "traceback", "silent", "endless", "impossible")
    figures = {
        tool.name: {
            outcome: sum(by_tool[tool.name].outcome == outcome for by_tool in answers.values())
            for outcome in outcomes
        }
        for tool in tools
    }
    print_table(["tool", *outcomes], [[name, *counts.values()] for name, counts in figures.items()])
    finish({"mistakes": len(answers), "outcomes": figures, "failed": failed})


if __name__ == "__main__":
    main()
