"""The run folder: claimed by one training at a time, filled whole or not at all."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from builder import atomic, run
from builder.blueprint.blueprint import Blueprint
from builder.blueprint.load import load_blueprint
from builder.blueprint.write import dump_blueprint
from builder.errors import BuilderError, RunError, printable
from builder.training.corpus import Corpus

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

PROOF_PAIRS = 256
OWNED = (
    run.TOKENIZER,
    run.SOURCE_TOKENIZER,
    run.TARGET_TOKENIZER,
    run.WEIGHTS,
    run.PROOF,
    run.LOG,
    run.CHECKPOINTS,
)
"""What a run holds beside its blueprint and its package."""
MARK = ".unfinished.blueprint.yaml"
"""Stands in a folder while a run is made in it; holds the blueprint of the run it replaces."""
DRAFT = re.compile(r"\.(.+)\.\d+\.tmp")
STEP = re.compile(r"step-\d+")


def check_free(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that a new run cannot have; nothing is changed.

    Raises:
        RunError: It is a file, cannot be read or written to, holds a run and `overwrite` is false,
            holds something else, or has a name that no folder can have.
    """
    try:
        _check_free(folder, overwrite=overwrite)
    except OSError as error:
        raise _unusable(folder, error) from None


def _unusable(folder: Path, error: OSError) -> RunError:
    return RunError(f"{printable(folder.absolute())}: {str(error.strerror).lower()}")


def _check_free(folder: Path, *, overwrite: bool) -> None:
    place = printable(folder.absolute())
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{place}: is a file, not a folder")
    if folder.exists() and any(folder.iterdir()):
        if _is_run(folder):
            found = "holds a run; `--resume` goes on with it, `--overwrite` replaces it"
        elif (folder / MARK).exists():
            found = "holds the beginnings of a run; `--overwrite` replaces them"
        else:
            raise RunError(f"{place}: holds no run, but other files; choose a new folder")
        if not overwrite:
            raise RunError(f"{place}: {found}")
    if not run.is_writable(folder):
        raise RunError(f"{place}: cannot be written to")


def _is_run(folder: Path) -> bool:
    """Tell whether training made what is in `folder`: all that it writes, a resolved blueprint."""
    names = {path.name for path in folder.iterdir()}
    tokenizers = ({run.TOKENIZER}, {run.SOURCE_TOKENIZER, run.TARGET_TOKENIZER})
    if not ({run.BLUEPRINT, run.PROOF} <= names and any(each <= names for each in tokenizers)):
        return False
    try:
        return load_blueprint(folder / run.BLUEPRINT).model.vocab_size is not None
    except BuilderError:
        return False


def check_begun(folder: Path) -> None:
    """Refuse a folder in which the making of a run was cut short.

    Raises:
        RunError: It was, and `--overwrite` can make one.
    """
    if (folder / MARK).exists() and not (folder / run.BLUEPRINT).exists():
        place = printable(folder.absolute())
        raise RunError(f"{place}: holds only the beginnings of a run; `--overwrite` replaces them")


@contextmanager
def new_run(folder: Path, contents: Mapping[str, str], *, overwrite: bool) -> Iterator[None]:
    """Make `folder` a run of the files `contents`, and keep others from it while the body runs.

    A new folder appears with all of its files. Of a run that is replaced, only what belongs to it
    is removed; if that is cut short, the folder can be overwritten again. The last of `contents`
    is what makes them a run.

    Raises:
        RunError: As `check_free`, or another training holds the folder.
    """
    with ExitStack() as claim:
        try:
            if folder.exists():
                claim.enter_context(locked(folder))
                check_free(folder, overwrite=overwrite)
                _make_way(folder)
                for name in contents:
                    atomic.write_text(folder / name, contents[name])
                clear_leftovers(folder)
            else:
                with atomic.folder(folder) as draft:
                    claim.enter_context(locked(draft))
                    for name in contents:
                        (draft / name).write_text(contents[name], encoding="utf-8")
        except OSError as error:
            raise _unusable(folder, error) from None
        yield


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other trainings from `folder`, as far as the system can; the lock dies with us.

    Raises:
        RunError: Another training holds it.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        _lock(handle, folder)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunError(f"{printable(folder.absolute())}: another training uses it") from None
    except OSError:
        return  # this file system has no locks


def first_files(blueprint: Blueprint, corpus: Corpus, folder: Path) -> dict[str, str]:
    """The files a run begins with; the blueprint, which makes it one, comes last."""
    source, target = corpus.tokenizers
    pairs = zip(corpus.valid_pairs.sources, corpus.valid_pairs.targets, strict=True)
    proof = [
        json.dumps({"source": left, "target": right}, ensure_ascii=False)
        for left, right in list(pairs)[:PROOF_PAIRS]
    ]
    tokenizers = (
        {run.TOKENIZER: source.to_json()}
        if source is target
        else {run.SOURCE_TOKENIZER: source.to_json(), run.TARGET_TOKENIZER: target.to_json()}
    )
    return tokenizers | {
        run.PROOF: "".join(f"{line}\n" for line in proof),
        run.BLUEPRINT: blueprint_text(blueprint, folder),
    }


def blueprint_text(blueprint: Blueprint, folder: Path) -> str:
    """Write the blueprint with its data paths relative to the run in `folder`."""
    data = blueprint.data
    if data is None:
        return dump_blueprint(blueprint)
    here = folder.absolute()
    moved = {}
    for part in ("train", "valid", "test"):
        source = getattr(data, part)
        names = {"source", "target", "path"} & set(type(source).model_fields) if source else set()
        paths = {name: _relative(getattr(source, name), here) for name in names}
        moved[part] = source.model_copy(update=paths) if source else None
    return dump_blueprint(blueprint.model_copy(update={"data": data.model_copy(update=moved)}))


def _relative(path: str, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive
        return path


def _make_way(folder: Path) -> None:
    """Remove what the run in `folder` owns; from here on it is none, and the mark says so."""
    mark = folder / MARK
    if (folder / run.BLUEPRINT).exists():
        (folder / run.BLUEPRINT).replace(mark)
    else:
        mark.touch()
    try:
        name = load_blueprint(mark).name
        package = [f"{name}.onnx", f"{name}.onnx.data"]
    except BuilderError:
        package = []
    for name in [*package, *OWNED]:
        _remove(folder / name)


def clear_leftovers(folder: Path) -> None:
    """Remove what a killed training was writing; only the holder of a whole run may ask for it."""
    for path in [*folder.glob(".*.tmp"), *(folder / run.CHECKPOINTS).glob(".*.tmp")]:
        draft = DRAFT.fullmatch(path.name)
        if draft and (draft[1] in (*OWNED, run.BLUEPRINT) or STEP.fullmatch(draft[1])):
            _remove(path)
    _remove(folder / MARK)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
