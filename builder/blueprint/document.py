"""A blueprint's file: found by its name or path, and read into a tree."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from builder.blueprint.bundled import bundled_blueprints
from builder.blueprint.cascade import expand
from builder.blueprint.migrate import lift
from builder.blueprint.nodes import Mapping, Source, describe, is_blank
from builder.blueprint.read import SIZE_LIMIT, read
from builder.blueprint.slips import nearest
from builder.errors import BlueprintError, Problem


@dataclass(frozen=True)
class Document:
    """A file that holds a blueprint."""

    file: Path
    shown: str
    """Its name in messages."""
    directory: Path
    """What its relative paths start from."""

    @classmethod
    def find(cls, name: str, directory: Path, beside: str = "") -> Document:
        """The bundled blueprint or the file called `name`.

        A relative path starts from `directory`; messages show it from `beside`, the name of a file
        that lies there.

        Raises:
            BlueprintError: There is no bundled blueprint of this name.
        """
        if not is_file_name(name):
            return cls(_bundled(name), f"{name}.yaml", Path.cwd())
        file = directory.absolute() / name
        shown = os.path.normpath(Path(beside).parent / name) if beside else name
        return cls(file, shown, file.parent)

    def text(self) -> str:
        """What the file says.

        Raises:
            BlueprintError: There is no such file or no text in it; names the absolute path.
        """
        longest = 4 * SIZE_LIMIT
        try:
            with self.file.open("rb") as stream:
                content = stream.read(longest + 1)
            if len(content) <= longest:
                return content.decode()
            reason = f"more than {longest:,} bytes"
        except IsADirectoryError:
            reason = "this is a folder, not a blueprint"
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            reason = f"not UTF-8: byte {error.start} of the file is 0x{byte:02x}"
        except FileNotFoundError:
            reason = "no such file" + _bundled_hint(self.file)
        except OSError as error:
            reason = str(error.strerror).lower()
        except ValueError as error:
            reason = str(error)
        raise BlueprintError([Problem(reason, file=os.path.normpath(self.file))])


def is_file_name(text: str) -> bool:
    """Whether a command's argument is a path, and no bundled blueprint's name."""
    return "/" in text or os.sep in text or text.endswith((".yaml", ".yml"))


def read_tree(text: str, source: Source) -> tuple[Mapping, list[Problem]]:
    """The tree of one text, lifted to the current version, its short forms written out.

    Raises:
        BlueprintError: No tree could be made of it.
    """
    document, problems = read(text.removeprefix("\ufeff"), source)
    if document is None or is_blank(document):
        raise BlueprintError([Problem("empty blueprint", file=source.name)])
    if not isinstance(document, Mapping):
        message = f"found {describe(document)}; a blueprint has sections, such as `model:`"
        raise BlueprintError([*problems, document.place.problem(message)])
    lifted, more = lift(document)
    return expand(lifted), problems + more


def _bundled_hint(file: Path) -> str:
    """Where a bundled blueprint was asked for as a file: how to name it."""
    if file.stem not in bundled_blueprints():
        return ""
    return f"; the bundled blueprint is called `{file.stem}`, without `{file.suffix}` and folder"


def _bundled(name: str) -> Path:
    known = bundled_blueprints()
    if name in known:
        return known[name]
    near = nearest(name, known)
    hint = f"did you mean `{near}`? " if near else ""
    message = (
        f"no bundled blueprint has this name; {hint}bundled: {', '.join(known)}; "
        "a path has a `/` or ends in `.yaml`"
    )
    raise BlueprintError([Problem(message, file=name)])
