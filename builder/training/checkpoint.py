"""Everything that exact resuming needs, in folders that are there whole or not at all."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from dataclasses import asdict
from itertools import chain, count
from pathlib import Path

import torch
from torch import Tensor, nn

from builder import atomic, run
from builder.errors import RunError, TrainingFailure, printable
from builder.training.state import State
from builder.weights import load_weights, read_tensors, save_weights, weights_of

WEIGHTS, OPTIMIZER, GENERATORS = (
    f"{name}.safetensors" for name in ("weights", "optimizer", "generators")
)
BEST = "best.safetensors"
"""The weights that were the best so far; missing before the first validation."""
MOMENTS = ("step", "exp_avg", "exp_avg_sq")
"""What Adam keeps of each parameter."""
STATE = "state.json"
SUMS = "sha256sums.txt"
"""Digests of the other files, as `sha256sum --check` reads them."""


class Checkpoints:
    """The folder `checkpoints` of a run; each member is `step-N`, made after update N."""

    def __init__(self, folder: Path, corpus_digest: str) -> None:
        self._run = folder
        self._folder = folder / run.CHECKPOINTS
        self._corpus_digest = corpus_digest

    def save(self, state: State, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Write a checkpoint, with the weights in the run as the best ones that `state` tells of.

        Raises:
            TrainingFailure: A number in it is not finite; nothing is written.
        """
        weights = weights_of(model)
        moments = _moments(model, optimizer)
        if not all(bool(tensor.isfinite().all()) for tensor in (weights | moments).values()):
            raise TrainingFailure(
                f"update {state.step}: the weights are no longer finite, so nothing was saved; "
                "a lower rate or a longer warm-up may help"
            )
        with atomic.folder(self._folder / f"step-{state.step}") as draft:
            save_weights(weights, draft / WEIGHTS)
            save_weights(moments, draft / OPTIMIZER)
            save_weights({"torch": torch.get_rng_state()}, draft / GENERATORS)
            if state.best is not None:
                shutil.copyfile(self._run / run.WEIGHTS, draft / BEST)
            numbers = asdict(state) | {"corpus": self._corpus_digest}
            (draft / STATE).write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
            (draft / SUMS).write_text(_sums(draft), encoding="utf-8")

    def prune(self, keep: int, *, every: int) -> None:
        """Keep the newest `keep`; of older ones, only those that were due.

        What an interruption saved goes with the next, so that it leaves no trace in an average.
        """
        older = self.newest_first()[1:]
        due = [path for path in older if _step(path) % every == 0]
        for path in set(older) - set(due[: keep - 1]):
            shutil.rmtree(path)

    def newest_first(self) -> list[Path]:
        """Find the checkpoints, whole or damaged."""
        found = [path for path in self._folder.glob("step-*") if path.name[5:].isdecimal()]
        return sorted(found, key=_step, reverse=True)

    def restore(
        self, model: nn.Module, optimizer: torch.optim.Optimizer
    ) -> tuple[State, list[str]]:
        """Load the newest checkpoint that is whole; a fresh state where there is none.

        Returns the state and what is wrong with newer checkpoints, which get other names.

        Raises:
            RunError: All are damaged or one cannot be read, or they were made with other pairs.
        """
        damaged: dict[Path, str] = {}
        for path in self.newest_first():
            problem = damage(path)
            if problem is None:
                state = self._load(path, model, optimizer)
                return state, [
                    f"{text}; kept as {_set_aside(broken)}; going on from {path.name}"
                    for broken, text in damaged.items()
                ]
            damaged[path] = problem
        if damaged:
            raise RunError("\n".join(["no checkpoint is whole:", *damaged.values()]))
        return State(), []

    def restore_best(self, state: State) -> None:
        """Put the best weights, as they were when `state` was saved, back into the run."""
        best = self._folder / f"step-{state.step}" / BEST
        if best.is_file():
            with atomic.file(self._run / run.WEIGHTS) as draft:
                shutil.copyfile(best, draft)

    def _load(self, path: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> State:
        state, corpus_digest = _read_state(path)
        if corpus_digest != self._corpus_digest:
            raise RunError(
                f"{printable(path.absolute())}: was trained on other pairs than `data` now names"
            )
        load_weights(model, path / WEIGHTS)
        _set_moments(model, optimizer, path / OPTIMIZER)
        _set_generator(path / GENERATORS)
        return state


def _step(path: Path) -> int:
    return int(path.name.removeprefix("step-"))


def damage(path: Path) -> str | None:
    """Compare the files of a checkpoint with their digests; say what is wrong, None if nothing.

    Raises:
        RunError: A file cannot be read, which tells nothing about what it holds.
    """
    place = printable(path.absolute())
    try:
        if (path / SUMS).read_bytes() == _sums(path).encode():
            return None
    except (FileNotFoundError, NotADirectoryError):
        return f"{place}: files are missing"
    except OSError as error:
        raise RunError(f"{place}: cannot be read: {error.strerror}") from None
    return f"{place}: damaged: its files are not what was saved"


def _set_aside(path: Path) -> str:
    """Rename a damaged checkpoint; return its new name."""
    names = (f"damaged-{path.name}{suffix}" for suffix in chain([""], map(".{}".format, count(2))))
    name = next(name for name in names if not path.with_name(name).exists())
    path.rename(path.with_name(name))
    return name


def _sums(folder: Path) -> str:
    best = [BEST] if (folder / BEST).exists() else []
    lines = []
    for name in (WEIGHTS, OPTIMIZER, GENERATORS, STATE, *best):
        with (folder / name).open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {name}\n")
    return "".join(lines)


def _moments(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The tensors of the optimiser, each under its own name and its parameter's."""
    return {
        f"{kind}.{name}": tensor
        for name, parameter in model.named_parameters()
        for kind, tensor in optimizer.state.get(parameter, {}).items()
    }


def _read_state(path: Path) -> tuple[State, object]:
    """Read where the training stood in the checkpoint `path`, and the digest of its corpus.

    Raises:
        RunError: The file is none that `save` wrote, whatever its digest says.
    """
    place = printable((path / STATE).absolute())
    try:
        numbers = json.loads((path / STATE).read_text(encoding="utf-8"))
        corpus_digest, state = numbers.pop("corpus"), State(**numbers)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = printable(f"{type(error).__name__}: {error}")
        raise RunError(f"{place}: not the state of a training: {reason}") from None
    counts = (state.epoch, state.position, state.validated, state.waited)
    plain = all(type(count) is int and 0 <= count <= _step(path) for count in counts)
    times = [state.elapsed_s] if state.best is None else [state.elapsed_s, state.best]
    real = all(type(time) in (int, float) and math.isfinite(time) for time in times)
    if not (plain and real and state.step == _step(path)):
        raise RunError(f"{place}: not the state of a training after {_step(path)} updates")
    return state, corpus_digest


def _set_generator(path: Path) -> None:
    try:
        torch.set_rng_state(read_tensors(path)["torch"])
    except (KeyError, RuntimeError, TypeError):
        raise RunError(f"{printable(path.absolute())}: not the state of a generator") from None


def _set_moments(model: nn.Module, optimizer: torch.optim.Optimizer, path: Path) -> None:
    """Give `optimizer` the tensors in `path`; each must be there, and fit its parameter.

    Raises:
        RunError: They are others.
    """
    moments, parameters = read_tensors(path), dict(model.named_parameters())
    shapes = {
        f"{kind}.{name}": torch.Size() if kind == "step" else parameter.shape
        for name, parameter in parameters.items()
        for kind in MOMENTS
    }
    found = {key: tensor.shape for key, tensor in moments.items() if tensor.is_floating_point()}
    wrong = [key for key in shapes | moments if shapes.get(key) != found.get(key)]
    if wrong:
        names = printable(", ".join(sorted(wrong)[:3]))
        raise RunError(f"{printable(path.absolute())}: does not fit the model: {names}")
    for key, tensor in moments.items():
        kind, name = key.split(".", 1)
        optimizer.state[parameters[name]][kind] = tensor
