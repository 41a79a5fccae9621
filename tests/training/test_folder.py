from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from builder.errors import RunError
from builder.training import folder
from builder.training.folder import check_free, locked, new_run
from builder.training.log import Log

FILES = {"tokenizer.json": "{}", "blueprint.yaml": "transom: 1\n"}


def test_a_second_training_is_refused_while_and_after(tmp_path: Path) -> None:
    place = tmp_path / "run"
    check_free(place, overwrite=False)  # of both, in the same second

    with new_run(place, FILES, overwrite=False):
        assert {path.name for path in place.iterdir()} == set(FILES)
        for overwrite in (False, True):
            with pytest.raises(RunError, match="run"), new_run(place, {}, overwrite=overwrite):
                pytest.fail("two trainings in one folder")
    with pytest.raises(RunError, match="run"), new_run(place, {}, overwrite=False):
        pytest.fail("the run was replaced")

    assert {path.name: path.read_text() for path in place.iterdir()} == FILES


def test_of_two_that_appear_at_once_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "run"

    @contextmanager
    def late(draft: Path) -> Iterator[None]:
        place.mkdir()
        (place / "blueprint.yaml").write_text("of the other")
        with locked(draft):
            yield

    monkeypatch.setattr(folder, "locked", late)
    with pytest.raises(RunError, match="run"), new_run(place, FILES, overwrite=False):
        pytest.fail("the other run was replaced")

    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert (place / "blueprint.yaml").read_text() == "of the other"


def test_an_empty_folder_is_free(tmp_path: Path) -> None:
    with new_run(tmp_path, FILES, overwrite=False):
        pass

    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == FILES


def test_a_place_that_cannot_be_made_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> bool:
        return False

    monkeypatch.setattr(folder.os, "access", refuse)
    with pytest.raises(RunError, match="run"):
        check_free(tmp_path / "deep" / "run", overwrite=False)


def test_a_name_that_no_folder_can_have_is_told(tmp_path: Path) -> None:
    for overwrite in (False, True):
        with pytest.raises(RunError, match=f"{'a' * 300}: "):
            check_free(tmp_path / ("a" * 300), overwrite=overwrite)
    draft_too_long = tmp_path / ("a" * 250)
    with pytest.raises(RunError, match="a" * 250), new_run(draft_too_long, {}, overwrite=False):
        pytest.fail("such a name was taken")
    assert list(tmp_path.iterdir()) == []


def test_the_lock_ends_with_its_body(tmp_path: Path) -> None:
    for _ in range(2):
        with locked(tmp_path), pytest.raises(RunError), locked(tmp_path):
            pytest.fail("locked twice")


def test_a_file_system_without_locks_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "not supported")

    monkeypatch.setattr(folder.fcntl, "flock", refuse)
    with locked(tmp_path):
        pass
    monkeypatch.setattr(folder, "fcntl", None)
    with locked(tmp_path):
        pass


def test_log_lines_are_json_and_rewind(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.write("note", step=0, text="日本\u2028\n")
    log.write("progress", step=5)
    log.write("progress", step=6)

    log.rewind(5)

    lines = (tmp_path / "log.jsonl").read_text(encoding="utf-8").split("\n")
    assert [json.loads(line) for line in lines if line] == [
        {"event": "note", "step": 0, "text": "日本\u2028\n"},
        {"event": "progress", "step": 5},
    ]
