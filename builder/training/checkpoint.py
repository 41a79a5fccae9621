"""Everything that exact resuming needs, in folders that are there whole or not at all."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor, nn

from builder import atomic
from builder.errors import RunError, TrainingFailure, printable
from builder.run import CHECKPOINTS
from builder.training.state import State
from builder.weights import load_weights, read_tensors, save_weights, weights_of

WEIGHTS, OPTIMIZER, GENERATORS = (
    f"{name}.safetensors" for name in ("weights", "optimizer", "generators")
)
STATE = "state.json"
SUMS = "sha256sums.txt"
"""Digests of the other files, as `sha256sum --check` reads them."""


class Checkpoints:
    """The folder `checkpoints` of a run; each member is `step-N`, made after update N."""

    def __init__(self, run: Path, corpus_digest: str) -> None:
        self._folder = run / CHECKPOINTS
        self._corpus_digest = corpus_digest

    def save(self, state: State, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Write a checkpoint.

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
        path = self._folder / f"step-{state.step}"
        if path.exists():
            shutil.rmtree(path)
        with atomic.folder(path) as draft:
            save_weights(weights, draft / WEIGHTS)
            save_weights(moments, draft / OPTIMIZER)
            save_weights({"torch": torch.get_rng_state()}, draft / GENERATORS)
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

    def clear_drafts(self) -> None:
        """Remove what a killed training was writing; only the holder of the run may ask for it."""
        for folder in (self._folder, self._folder.parent):
            for draft in folder.glob(".*.tmp"):
                shutil.rmtree(draft) if draft.is_dir() else draft.unlink()

    def restore(
        self, model: nn.Module, optimizer: torch.optim.Optimizer
    ) -> tuple[State, list[str]]:
        """Load the newest checkpoint that is whole; a fresh state where there is none.

        Returns the state and what is wrong with newer checkpoints, which are removed.

        Raises:
            RunError: All are damaged, or they were made with other pairs.
        """
        damaged: dict[Path, str] = {}
        for path in self.newest_first():
            problem = damage(path)
            if problem is None:
                state = self._load(path, model, optimizer)
                for broken in damaged:
                    shutil.rmtree(broken)
                return state, [f"{text}; going on from {path.name}" for text in damaged.values()]
            damaged[path] = problem
        if damaged:
            raise RunError("\n".join(["no checkpoint is whole:", *damaged.values()]))
        return State(), []

    def _load(self, path: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> State:
        numbers = json.loads((path / STATE).read_text(encoding="utf-8"))
        if numbers.pop("corpus") != self._corpus_digest:
            raise RunError(
                f"{printable(path.absolute())}: was trained on other pairs than `data` now names"
            )
        load_weights(model, path / WEIGHTS)
        _set_moments(model, optimizer, read_tensors(path / OPTIMIZER))
        torch.set_rng_state(read_tensors(path / GENERATORS)["torch"])
        return State(**numbers)


def _step(path: Path) -> int:
    return int(path.name.removeprefix("step-"))


def damage(path: Path) -> str | None:
    """Compare the files of a checkpoint with their digests; say what is wrong, None if nothing."""
    place = printable(path.absolute())
    try:
        stated = (path / SUMS).read_text(encoding="utf-8")
        if stated == _sums(path):
            return None
    except (OSError, UnicodeDecodeError):
        return f"{place}: files are missing"
    return f"{place}: damaged: its files are not what was saved"


def _sums(folder: Path) -> str:
    lines = []
    for name in (WEIGHTS, OPTIMIZER, GENERATORS, STATE):
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


def _set_moments(
    model: nn.Module, optimizer: torch.optim.Optimizer, moments: dict[str, Tensor]
) -> None:
    parameters = dict(model.named_parameters())
    for key, tensor in moments.items():
        kind, name = key.split(".", 1)
        optimizer.state[parameters[name]][kind] = tensor
