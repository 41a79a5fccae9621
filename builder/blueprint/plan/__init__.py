"""A blueprint into what its model will cost, by closed formulas: no data, no weights, no torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.data import Lengths
from builder.blueprint.plan.amount import Amount
from builder.blueprint.plan.blocks import Block, blocks_of, vocabularies
from builder.blueprint.plan.drawing import Drawing, draw_masks
from builder.blueprint.plan.duration import Duration, Pace, estimate_duration
from builder.blueprint.plan.flops import TRAINING, Flops, count_flops, planned_lengths
from builder.blueprint.plan.inference import CacheBytes, cache_bytes, file_bytes
from builder.blueprint.plan.memory import Batch, TrainingMemory, planned_batch, training_memory
from builder.blueprint.training import Training

__all__ = ["Plan", "make_plan", "vocabularies"]


@dataclass(frozen=True)
class Plan:
    """What a blueprint will cost."""

    name: str
    blocks: tuple[Block, ...]
    lengths: Lengths
    """Of the sequences that operations are counted for."""
    flops_by_block: dict[str, Flops]
    """Of a forward pass; blocks that multiply no matrices are not among them."""
    batch: Batch
    memory: TrainingMemory
    cache: CacheBytes
    file: dict[str, Amount]
    """Bytes of the exported weights, by precision."""
    masks: tuple[Drawing, ...]
    duration: Duration | None
    """Of the training, where a run is given to compare with."""

    @property
    def parameters(self) -> Amount:
        """All parameters, shared ones once."""
        return sum((block.parameters for block in self.blocks), Amount())

    @property
    def flops(self) -> Flops:
        """Of a forward pass of the whole model."""
        return sum(self.flops_by_block.values(), Flops())

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain values, for JSON."""
        by_block = {name: flops.as_dict() for name, flops in self.flops_by_block.items()}
        return {
            "name": self.name,
            "parameters": self.parameters.as_dict(),
            "blocks": [block.as_dict() for block in self.blocks],
            "flops": {
                "lengths": {"source": self.lengths.source, "target": self.lengths.target},
                "forward": self.flops.as_dict(),
                "training": (self.flops * TRAINING).as_dict(),
                "by_block": by_block,
            },
            "training_memory_bytes": {"batch": asdict(self.batch), **self.memory.as_dict()},
            "cache_bytes": asdict(self.cache),
            "file_bytes": {name: size.as_dict() for name, size in self.file.items()},
            "masks": [mask.as_dict() for mask in self.masks],
            "duration": None if self.duration is None else self.duration.as_dict(),
        }


def make_plan(blueprint: Blueprint, *, pace: Pace | None = None) -> Plan:
    """Count everything; `pace` is that of a run, to estimate the time of training by."""
    model, lengths = blueprint.model, planned_lengths(blueprint)
    blocks = blocks_of(blueprint)
    parameters = sum((block.parameters for block in blocks), Amount())
    batch = planned_batch(blueprint.training or Training(), lengths)
    _, target_rows = vocabularies(blueprint)
    return Plan(
        name=blueprint.name,
        blocks=blocks,
        lengths=lengths,
        flops_by_block=count_flops(blocks, lengths),
        batch=batch,
        memory=training_memory(model, parameters, target_rows, batch),
        cache=cache_bytes(model.decoder, model.d_model),
        file=file_bytes(blocks),
        masks=draw_masks(model),
        duration=None if pace is None else estimate_duration(blueprint, pace),
    )
