"""The weights of a network as a safetensors file; nothing is ever unpickled."""

from __future__ import annotations

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from builder import atomic
from builder.errors import RunError, printable


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Name the parameters of `model`, each shared one once."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def save_weights(weights: dict[str, Tensor], path: Path) -> None:
    """Write tensors to `path`, whole or not at all."""
    with atomic.file(path) as draft:
        draft.touch()
        mode = draft.stat().st_mode  # safetensors would leave the file to its owner alone
        save_file({name: tensor.contiguous().cpu() for name, tensor in weights.items()}, draft)
        draft.chmod(mode)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read the tensors of a safetensors file.

    Raises:
        RunError: The file is missing, damaged, or of another kind.
    """
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        reason = printable(str(error))
        raise RunError(
            f"{printable(path.absolute())}: not a readable safetensors file: {reason}"
        ) from None


def load_weights(model: nn.Module, path: Path) -> None:
    """Fill the parameters of `model` from `path`; names and shapes must be the same.

    Raises:
        RunError: The file is unreadable, or holds other tensors than the model has.
    """
    tensors, own = read_tensors(path), weights_of(model)
    wrong = sorted(tensors.keys() ^ own.keys()) or sorted(
        name
        for name, tensor in tensors.items()
        if tensor.shape != own[name].shape or not tensor.is_floating_point()
    )
    if wrong:
        names = printable(", ".join(wrong[:3]))
        raise RunError(f"{printable(path.absolute())}: does not fit the blueprint: {names}")
    for name, tensor in tensors.items():
        own[name].copy_(tensor)
