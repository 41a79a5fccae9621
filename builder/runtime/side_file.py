"""The weights that do not fit into an ONNX file: the one file beside it that may be read."""

from __future__ import annotations

import hashlib
import json
import stat
from pathlib import Path
from typing import Any, NamedTuple

from builder.errors import DamageError, PackageError, printable
from builder.runtime import wire

KEY = "transom.side_file"
"""The metadata key that names the file; without it, all weights must lie in the ONNX file."""
SUFFIX = ".data"


class SideFile(NamedTuple):
    """What an ONNX file knows of the one beside it."""

    name: str
    size_bytes: int
    digest: str
    """SHA-256, in hexadecimal digits."""

    def to_json(self) -> str:
        """Write the entry of the metadata."""
        return json.dumps(
            {"name": self.name, "size": self.size_bytes, "digest": f"sha256:{self.digest}"}
        )


def side_file(data: bytes) -> SideFile | None:
    """Return the file in which the tensors of the ONNX file `data` lie; None if there is none.

    Raises:
        PackageError: It names a file that is not simply beside it, or its tensors name another.
    """
    if KEY.encode() not in data:
        return None
    metadata, locations = wire.read(data)
    entries = [value for key, value in metadata if key == KEY]
    if not entries:
        return None
    try:
        (entry,) = entries
        named = _read(json.loads(entry))
    except (KeyError, TypeError, ValueError, RecursionError, AttributeError):
        raise PackageError(f"damaged metadata: `{KEY}`") from None
    others = sorted(locations - {named.name})
    if others:
        raise PackageError(
            f"its weights may lie in `{printable(named.name)}` alone; refused: "
            f"`{printable(others[0])}`"
        )
    return named


def _read(entry: Any) -> SideFile:
    name, size, (kind, digest) = entry["name"], entry["size"], entry["digest"].split(":")
    is_plain = not set(name) & set('/\\:*?"<>|') and name.isprintable() and name.endswith(SUFFIX)
    if not is_plain or name == SUFFIX or type(size) is not int or kind != "sha256":
        raise ValueError
    return SideFile(name, size, digest)


def check(named: SideFile, folder: Path) -> Path:
    """Find the file in `folder`, no link to another, and make sure that it holds what it must.

    Raises:
        PackageError: It is missing, is a link, or cannot be read.
        DamageError: Its content is not what its digest was made of.
    """
    path = folder / named.name
    place = printable(path.absolute())
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise PackageError(f"its weights must be a file, not a link or a folder: {place}")
        if status.st_size == named.size_bytes:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest == named.digest:
                return path
    except FileNotFoundError:
        raise PackageError(
            f"its weights are in a second file, which is missing: {place}: both belong together, "
            "under the names they were exported with"
        ) from None
    except OSError as error:
        raise PackageError(f"its weights cannot be read: {place}: {error.strerror}") from None
    raise DamageError(f"the weights beside it are damaged, or of another export: {place}")
