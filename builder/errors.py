"""The exception tree: every mistake of a user, and every failure that a command reports."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class BuilderError(Exception):
    """Base of every error raised on purpose; its text is the whole message for the user."""

    exit_code = 2


@dataclass(frozen=True)
class Problem:
    """One mistake in a blueprint: its place, its key path, and what would be right."""

    message: str
    """What was found and what is allowed; may be several lines."""
    path: str = ""
    """The user's own key path, such as `model.attention.heads`."""
    file: str = ""
    """The file, or the command-line flag that held the value."""
    line: int = 0
    """Counted from 1; 0 where there is none."""
    column: int = 0
    """Counted from 1; 0 where there is none."""
    source_line: str = ""
    """The text of the line, for the caret."""

    def __str__(self) -> str:
        place = printable(self.file)
        if self.line:
            place += f":{self.line}:{self.column}"
        head = ": ".join(part for part in (place, printable(self.path), self.message) if part)
        if not self.source_line:
            return head
        prefix = f"    {self.line} | "
        shown = printable(self.source_line)
        caret = len(prefix) + len(printable(self.source_line[: self.column - 1]))
        return f"{head}\n{prefix}{shown}\n{' ' * caret}^"


class BlueprintError(BuilderError):
    """A blueprint that cannot be used; carries all of its problems, in the order of the file."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class DataError(BuilderError):
    """Training or input text that is missing, unreadable, or does not fit."""


class TokenizerError(BuilderError):
    """A tokenizer that cannot be trained or read."""


class RunError(BuilderError):
    """A run folder that is missing, occupied, damaged, or does not fit what is asked of it."""


class PackageError(BuilderError):
    """An ONNX package that is not ours, is damaged, or cannot take the input given."""


class DamageError(PackageError):
    """An ONNX package whose content is not what its digest was made of."""


class MissingExtra(BuilderError):
    """A command that needs packages which the plain install leaves out."""

    def __init__(self, command: str, extra: str) -> None:
        super().__init__(f'`transom {command}` needs more packages: pip install "transom[{extra}]"')


class Failure(BuilderError):
    """Work that was asked for correctly and still failed."""

    exit_code = 1


class TrainingFailure(Failure):
    """Training that cannot go on, such as a loss that is not finite."""


class ProofFailure(Failure):
    """An exported file that does not do what the trained model does."""


class MemoryFailure(Failure):
    """Work for which the memory of the machine is too small."""


OUT_OF_MEMORY = (
    "not enough memory",
    "out of memory",
    "allocate memory",
    "failed to allocate",
    "bad allocation",
    "bad_alloc",
)
"""What engines say for want of memory; only some of them have a class for it."""


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether `error`, whoever raised it, means that there is not enough memory."""
    text = str(getattr(error, "strerror", None) or error).lower()  # names of files say nothing
    return isinstance(error, MemoryError) or any(words in text for words in OUT_OF_MEMORY)


def printable(text: str | Path) -> str:
    """Escape control and other invisible characters, so that no message drives a terminal."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode()
        for c in str(text)
    )
