"""What must hold of every valid blueprint and its network, in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.load import parse_blueprint
from builder.blueprint.plan import make_plan
from builder.blueprint.write import dump_blueprint
from builder.compile import compile_model
from builder.generate import pad
from builder.nn.transformer import Transformer
from builder.weights import load_weights, save_weights, weights_of

from .network import Loops

PAIRS = (
    ([4, 6, 5, 3, 6, 7, 2], [1, 5, 6, 3, 7, 4]),
    ([7, 2], [1, 4]),
    ([2], [1]),
    ([3, 5, 7, 4, 2], [1, 7, 7, 6, 3, 3, 5, 4, 6]),
)
"""Sources and targets whose ids every vocabulary has."""

Invariant = Callable[[Blueprint, Transformer], None]


def check_invariants(blueprint: Blueprint, seed: int) -> None:
    """Hold a blueprint against all of them, with weights drawn from `seed`.

    Raises:
        AssertionError: One does not hold.
    """
    with float64():
        network = build(blueprint, seed)
        for invariant in INVARIANTS:
            try:
                invariant(blueprint, network)
            except Exception as error:
                error.add_note(invariant.__name__)
                raise


@contextmanager
def float64() -> Iterator[None]:
    """Compute in float64, angles and slopes too, which come in the default type."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_default_dtype(default)


def build(blueprint: Blueprint, seed: int) -> Transformer:
    """The network of a blueprint, none of whose weights is a plain 0 or 1."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = compile_model(blueprint.model).eval()
        for parameter in network.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    return network


def agrees_with_plain_loops(blueprint: Blueprint, network: Transformer) -> None:
    """Every row of a ragged batch is what the reference computes for it alone."""
    loops = Loops(blueprint.model, {k: v.numpy() for k, v in network.state_dict().items()})
    logits = network(*_batch())
    for row, (source, target) in enumerate(PAIRS):
        expected = torch.from_numpy(loops.logits(source, target))
        close(logits[row, : len(target)], expected)


def padding_never_leaks(_: Blueprint, network: Transformer) -> None:
    """Neither more padding, nor its vectors, nor the other rows change a row."""
    source, target = _batch()
    logits = network(source, target)
    wider = network(_wider(source), _wider(target))
    for row, (source_ids, target_ids) in enumerate(PAIRS):
        alone = network(torch.tensor([source_ids]), torch.tensor([target_ids]))[0]
        close(logits[row, : len(target_ids)], alone)
        close(wider[row, : len(target_ids)], alone)
    tables = (network.source_embedding.tokens, network.target_embedding.tokens)
    kept = [table.weight[0].clone() for table in tables]
    for table in tables:
        table.weight[0] = 7.0
    moved = network(source, target)
    for table, row_0 in zip(tables, kept, strict=True):
        table.weight[0] = row_0
    for row, (_source_ids, target_ids) in enumerate(PAIRS):
        close(moved[row, : len(target_ids)], logits[row, : len(target_ids)])


def future_never_leaks(_: Blueprint, network: Transformer) -> None:
    """Whatever follows, the scores of what comes before stay the same to the last bit."""
    source, target = _batch()
    logits = network(source, target)
    for length in range(1, target.shape[1]):
        other = target.clone()
        other[:, length:] = 3 + (target[:, length:] + 1) % 5
        exact(network(source, other)[:, :length], logits[:, :length], "a later token shows")


def cache_changes_nothing(_: Blueprint, network: Transformer) -> None:
    """Scores of one step after another are those of a whole target at once."""
    source, target = _batch()
    logits, memory = network(source, target), network.remember(source)
    caches = network.empty_caches(source)
    for time in range(target.shape[1]):
        scores, caches = network.step(
            target[:, time], torch.tensor(time), memory=memory, caches=caches
        )
        close(scores, logits[:, time])


def targets_share_a_cache(_: Blueprint, network: Transformer) -> None:
    """Several targets of one source in one cache score as each does alone."""
    source, target = _batch()
    targets = torch.stack([target, 3 + (target + 1) % 5], dim=1)  # [batch, beam, target]
    targets[:, :, 0] = target[:, :1]
    logits = [network(source, targets[:, beam]) for beam in range(2)]
    memory, caches = network.remember(source), network.empty_caches(source)
    itself = torch.eye(2, dtype=torch.bool).expand(len(source), -1, -1)
    for time in range(target.shape[1]):
        scores, caches = network.step(
            targets[:, :, time],
            torch.tensor(time),
            memory=memory,
            caches=caches,
            ancestors=itself.repeat(1, 1, time),
        )
        for beam in range(2):
            close(scores[:, beam], logits[beam][:, time])


def resolved_form_is_the_same(blueprint: Blueprint, _: Transformer) -> None:
    """What is written out loads back to the same blueprint, and to the same text."""
    text = dump_blueprint(blueprint)
    again = parse_blueprint(text, "resolved.yaml")
    if again != blueprint:
        raise AssertionError("the resolved form loads to another blueprint")
    if dump_blueprint(again) != text:
        raise AssertionError("the resolved form is written in another way")


def plan_counts_parameters(blueprint: Blueprint, network: Transformer) -> None:
    """The plan's formulas count what the network holds."""
    planned = make_plan(blueprint).parameters.fixed
    counted = sum(parameter.numel() for parameter in network.parameters())
    if planned != counted:
        raise AssertionError(f"{planned} parameters are planned, the network has {counted}")


def weights_are_saved_whole(blueprint: Blueprint, network: Transformer) -> None:
    """Saved weights load into a fresh network, and are saved again as the same bytes."""
    with TemporaryDirectory() as folder:
        first, second = Path(folder, "first"), Path(folder, "second")
        save_weights(weights_of(network), first)
        other = compile_model(blueprint.model).eval()
        load_weights(other, first)
        save_weights(weights_of(other), second)
        if first.read_bytes() != second.read_bytes():
            raise AssertionError("weights change on their way through a file")
    exact(other(*_batch()), network(*_batch()), "the saved weights compute something else")


INVARIANTS: tuple[Invariant, ...] = (
    agrees_with_plain_loops,
    padding_never_leaks,
    future_never_leaks,
    cache_changes_nothing,
    targets_share_a_cache,
    resolved_form_is_the_same,
    plan_counts_parameters,
    weights_are_saved_whole,
)


def close(found: Tensor, expected: Tensor) -> None:
    """Both are the same but for the order of sums, against the largest number where that is big."""
    largest = expected[expected.isfinite()].abs().max().item()
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12 * max(1.0, largest))


def exact(found: Tensor, expected: Tensor, otherwise: str) -> None:
    """Both are the same bits."""
    if not torch.equal(found, expected):
        raise AssertionError(otherwise)


def _batch() -> tuple[Tensor, Tensor]:
    sources, targets = zip(*PAIRS, strict=True)
    return pad(sources), pad(targets)


def _wider(ids: Tensor) -> Tensor:
    return torch.nn.functional.pad(ids, (0, 3))
