"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def file(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; what is written there takes that name on success."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield draft
        _sync(draft)
        draft.replace(path)
        _sync(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path`; a reader sees the old file or the new one, never a part."""
    with file(path) as draft:
        draft.write_bytes(data)


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` as UTF-8; see `write_bytes`."""
    write_bytes(path, text.encode())


def replace(moves: Sequence[tuple[Path, Path]]) -> None:
    """Let each draft take its place, one right after another; where one fails, the old files stay.

    Drafts lie in folders of their own, which keep the old files until they are removed. The last
    place is never empty meanwhile; the others may be for a moment.
    """
    for draft, _ in moves:
        _sync(draft)
    kept = [(draft, draft.with_name(f"{draft.name}.old"), place) for draft, place in moves[:-1]]
    last, end = moves[-1]
    try:
        for draft, old, place in kept:
            if os.path.lexists(place):
                place.replace(old)
            draft.replace(place)
        last.replace(end)
    finally:
        for draft, old, place in kept if last.exists() else []:
            if os.path.lexists(old):
                old.replace(place)
            elif not draft.exists():
                place.unlink()
    for folder in {place.parent for _, place in moves}:
        _sync(folder)


@contextmanager
def folder(path: Path) -> Iterator[Path]:
    """Give an empty folder beside `path`; it takes that name, which must be free, on success."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        yield draft
        for item in draft.rglob("*"):
            _sync(item)
        _sync(draft)
        draft.rename(path)
        _sync(path.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _sync(path: Path) -> None:
    """Make the operating system write `path` to the disk, as far as the platform can."""
    if os.name == "nt":
        return  # opens neither folders nor, for this, files that are only read
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
