from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from builder import atomic


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class Interruption(BaseException):
    """Stands for Ctrl-C, which is no Exception."""


@pytest.mark.parametrize("error", [ValueError, Interruption])
def test_an_interrupted_file_leaves_the_old_one(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "weights"
    atomic.write_bytes(path, b"old")

    def write() -> None:
        with atomic.file(path) as draft:
            draft.write_bytes(b"half of the n")
            assert path.read_bytes() == b"old"
            raise error

    with pytest.raises(error):
        write()

    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["weights"]


def test_a_file_that_was_never_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    atomic.write_bytes(path, b"old")

    with pytest.raises(FileNotFoundError), atomic.file(path):
        pass

    assert path.read_bytes() == b"old"


def test_a_file_appears_whole(tmp_path: Path) -> None:
    path = tmp_path / "weights"

    with atomic.file(path) as draft:
        assert draft.parent == tmp_path
        draft.write_bytes(b"half ")
        assert not path.exists()
        with draft.open("ab") as file:
            file.write(b"and half")

    assert path.read_bytes() == b"half and half"
    assert names(tmp_path) == ["weights"]


def test_text_is_written_as_utf_8_and_its_line_ends_stay(tmp_path: Path) -> None:
    path = tmp_path / "text"
    atomic.write_text(path, "old")

    atomic.write_text(path, "é日\r\n\n")

    assert path.read_bytes() == "é日\r\n\n".encode()


def test_a_file_is_as_readable_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    atomic.write_bytes(tmp_path / "ours", b"")

    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_relative_path_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    atomic.write_text(Path("file"), "text")
    with atomic.folder(Path("folder")) as draft:
        (draft / "inside").write_text("text")

    assert names(tmp_path) == ["file", "folder"]


def test_a_folder_appears_whole(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "step-1"

    with atomic.folder(path) as draft:
        (draft / "a").write_text("1")
        (draft / "deep").mkdir()
        (draft / "deep" / "b").write_text("2")
        assert not path.exists()

    assert names(path) == ["a", "deep"]
    assert (path / "deep" / "b").read_text() == "2"
    assert names(path.parent) == ["step-1"]


@pytest.mark.parametrize("error", [ValueError, Interruption])
def test_an_interrupted_folder_never_appears(tmp_path: Path, error: type[BaseException]) -> None:
    def write() -> None:
        with atomic.folder(tmp_path / "step-1") as draft:
            (draft / "a").write_text("1")
            raise error

    with pytest.raises(error):
        write()

    assert names(tmp_path) == []


def test_a_folder_does_not_take_a_name_that_is_in_use(tmp_path: Path) -> None:
    path = tmp_path / "step-1"
    path.mkdir()
    (path / "old").write_text("old")

    with pytest.raises(OSError), atomic.folder(path) as draft:  # noqa: PT011
        (draft / "new").write_text("new")

    assert names(path) == ["old"]
    assert names(tmp_path) == ["step-1"]


KILLED = """
import os, signal, sys
from pathlib import Path
from builder import atomic

path = Path(sys.argv[1])
with atomic.folder(path / "folder") as folder, atomic.file(path / "file") as draft:
    (folder / "part").write_text("new")
    draft.write_text("new")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs a signal that cannot be caught")
def test_a_kill_leaves_the_old_file_and_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")

    killed = subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False)

    assert killed.returncode < 0
    assert (tmp_path / "file").read_text() == "old"
    assert not (tmp_path / "folder").exists()
    atomic.write_text(tmp_path / "file", "new")
    with atomic.folder(tmp_path / "folder"):
        pass
    assert (tmp_path / "file").read_text() == "new"
    assert (tmp_path / "folder").is_dir()


def drafts_of(folder: Path, *contents: bytes) -> list[tuple[Path, Path]]:
    """Drafts in a folder of their own, and their places in `folder`."""
    room = folder / "drafts"
    room.mkdir()
    moves = [(room / str(n), folder / f"file {n}") for n in range(len(contents))]
    for (draft, _), content in zip(moves, contents, strict=True):
        draft.write_bytes(content)
    return moves


@pytest.mark.parametrize("had_old", [True, False])
@pytest.mark.parametrize("fails_at", [None, 0, 1, 2])
def test_files_that_belong_together_change_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, had_old: bool, fails_at: int | None
) -> None:
    moves = drafts_of(tmp_path, b"new 0", b"new 1", b"new 2")
    places = [place for _, place in moves]
    for place in places if had_old else []:
        place.write_bytes(b"old")
    honest = Path.replace

    def replace(path: Path, target: Path) -> Path:
        if fails_at is not None and path == moves[fails_at][0]:
            raise Interruption
        return honest(path, target)

    monkeypatch.setattr(Path, "replace", replace)
    if fails_at is None:
        atomic.replace(moves)
        assert [place.read_bytes() for place in places] == [b"new 0", b"new 1", b"new 2"]
        return
    with pytest.raises(Interruption):
        atomic.replace(moves)
    assert [place.read_bytes() for place in places if place.exists()] == [b"old"] * 3 * had_old
