from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from builder.errors import RunError, TrainingFailure
from builder.training import checkpoint
from builder.training.average import average_weights
from builder.training.checkpoint import Checkpoints, damage
from builder.training.state import State
from builder.weights import save_weights, weights_of

STATE = State(step=3, epoch=1, position=2, elapsed_s=4.5, validated=2, best=0.25, waited=1)


def learned(seed: int, updates: int = 3) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    model = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    for _ in range(updates):
        optimizer.zero_grad()
        model(torch.randn(4, 3)).square().sum().backward()
        optimizer.step()
    return model, optimizer


@pytest.fixture(autouse=True)
def best(tmp_path: Path) -> Path:
    """The best weights of a run, as its last validation left them."""
    path = tmp_path / "weights.safetensors"
    save_weights(weights_of(learned(9)[0]), path)
    return path


def test_restores_everything(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "abc")
    model, optimizer = learned(1)
    checkpoints.save(STATE, model, optimizer)
    drawn = torch.randn(3)

    other, other_optimizer = learned(2, updates=0)
    state, problems = checkpoints.restore(other, other_optimizer)

    assert (state, problems) == (STATE, [])
    assert torch.equal(torch.randn(3), drawn)
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, two)
        assert optimizer.state[one].keys() == other_optimizer.state[two].keys()
        for kind, tensor in optimizer.state[one].items():
            assert torch.equal(tensor, other_optimizer.state[two][kind])


def test_restores_the_best_weights_of_its_time(tmp_path: Path, best: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "abc")
    checkpoints.save(STATE, *learned(1))
    before = best.read_bytes()
    best.write_bytes(b"better ones, found later")
    best.chmod(0o644)

    checkpoints.restore_best(STATE)

    assert best.read_bytes() == before
    best.write_bytes(b"changed in place")
    (path,) = checkpoints.newest_first()
    assert damage(path) is None


def test_before_a_validation_none_are_the_best(tmp_path: Path, best: Path) -> None:
    best.unlink()
    checkpoints = Checkpoints(tmp_path, "abc")

    checkpoints.save(State(step=3), *learned(1))
    checkpoints.restore_best(State(step=3))

    assert not best.exists()
    assert checkpoints.restore(*learned(2)) == (State(step=3), [])


def test_whoever_may_read_the_state_may_read_the_weights(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "abc")
    checkpoints.save(STATE, *learned(1))
    (path,) = checkpoints.newest_first()

    assert len({file.stat().st_mode for file in path.iterdir()}) == 1


def test_nothing_that_is_not_finite_is_saved(tmp_path: Path) -> None:
    for break_it in (
        lambda model, _: model.bias.data.fill_(float("inf")),
        lambda model, optimizer: optimizer.state[model.bias]["exp_avg"].fill_(float("nan")),
    ):
        model, optimizer = learned(1)
        break_it(model, optimizer)

        with pytest.raises(TrainingFailure, match="update 3"):
            Checkpoints(tmp_path, "abc").save(STATE, model, optimizer)
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.parametrize("written", range(4))
def test_a_crash_between_its_files_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    checkpoints = Checkpoints(tmp_path, "abc")
    model, optimizer = learned(1)
    checkpoints.save(STATE, model, optimizer)
    left = iter(range(written))
    honest_save, honest_sums = checkpoint.save_weights, checkpoint._sums

    def or_crash(write: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            if next(left, None) is None:
                raise OSError("power cut")
            return write(*arguments)

        return wrapped

    monkeypatch.setattr(checkpoint, "save_weights", or_crash(honest_save))
    monkeypatch.setattr(checkpoint, "_sums", or_crash(honest_sums))
    with pytest.raises(OSError, match="power cut"):
        checkpoints.save(State(step=4), model, optimizer)
    monkeypatch.undo()

    assert [path.name for path in checkpoints.newest_first()] == ["step-3"]
    assert checkpoints.restore(*learned(2))[0] == STATE


def test_damage_is_found_in_every_file(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "abc")
    checkpoints.save(STATE, *learned(1))
    (path,) = checkpoints.newest_first()
    files = list(path.iterdir())
    assert damage(path) is None

    for file in files:
        whole = file.read_bytes()
        for broken in (whole[:-1], whole[:-1] + b"\xff", b""):
            file.write_bytes(broken)
            assert damage(path) is not None, file.name
        file.unlink()
        assert damage(path) is not None, file.name
        file.write_bytes(whole)
    assert len(files) == 6
    assert damage(path) is None


@pytest.mark.parametrize("error", [PermissionError(13, "denied"), OSError(5, "input/output")])
def test_what_cannot_be_read_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    checkpoints = Checkpoints(tmp_path, "abc")
    checkpoints.save(State(step=2), *learned(1))
    checkpoints.save(STATE, *learned(1))
    honest = Path.open

    def refuse(self: Path, *rest: Any, **options: Any) -> Any:
        if self.name == "optimizer.safetensors":
            raise error
        return honest(self, *rest, **options)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(RunError, match=f"step-3.*{error.strerror}"):
        checkpoints.restore(*learned(2))
    monkeypatch.undo()

    assert checkpoints.restore(*learned(2)) == (STATE, [])


def test_damaged_ones_are_kept_under_another_name(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "abc")
    checkpoints.save(State(step=2), *learned(1))
    for name in ("damaged-step-3", "damaged-step-3.2"):
        checkpoints.save(STATE, *learned(1))
        path = checkpoints.newest_first()[0]
        (path / "state.json").write_text(name)

        state, (note,) = checkpoints.restore(*learned(2))

        assert state.step == 2
        assert all(part in note for part in ("step-3: ", name, "step-2"))
        assert (path.with_name(name) / "state.json").read_text() == name
    (tmp_path / "checkpoints" / "step-3").write_text("a file")
    assert checkpoints.restore(*learned(2))[0].step == 2
    assert [path.name for path in checkpoints.newest_first()] == ["step-2"]


def test_pickles_are_never_read(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    evil = f"cbuiltins\neval\n(S'open({str(marker)!r}, \"w\")'\ntR.".encode()
    checkpoints = Checkpoints(tmp_path, "abc")
    checkpoints.save(STATE, *learned(1))
    (path,) = checkpoints.newest_first()
    (path / "optimizer.safetensors").write_bytes(evil)
    (path / "sha256sums.txt").write_text(checkpoint._sums(path))

    with pytest.raises(RunError, match=r"optimizer\.safetensors"):
        checkpoints.restore(*learned(2))
    assert not marker.exists()


def test_other_pairs_are_refused(tmp_path: Path) -> None:
    Checkpoints(tmp_path, "abc").save(STATE, *learned(1))

    with pytest.raises(RunError, match="step-3"):
        Checkpoints(tmp_path, "abd").restore(*learned(2))


def test_keeps_the_newest_and_of_older_ones_those_that_were_due(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "abc")
    for step in (8, 9, 10, 13, 20, 30, 31):
        checkpoints.save(State(step=step), *learned(1))

    checkpoints.prune(3, every=10)

    assert [path.name for path in checkpoints.newest_first()] == ["step-31", "step-30", "step-20"]


def test_average_is_the_mean_of_every_weight(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, "abc")
    models = [learned(seed) for seed in (1, 2, 3)]
    for step, (model, optimizer) in enumerate(models):
        checkpoints.save(State(step=step), model, optimizer)

    averaged = average_weights(checkpoints.newest_first())

    for name, tensor in averaged.items():
        expected = sum(weights_of(model)[name].double() for model, _ in models) / 3
        torch.testing.assert_close(tensor.double(), expected, rtol=1e-6, atol=1e-8)
        assert tensor.dtype == torch.float32
