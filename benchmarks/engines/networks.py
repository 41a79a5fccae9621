"""Networks to measure: random weights under which outputs vary, as runs that can be exported."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.load import load_blueprint
from builder.blueprint.write import dump_blueprint
from builder.compile import compile_model
from builder.generate import pad
from builder.nn.transformer import BOS_ID, Transformer
from builder.text.control import EOS_ID
from builder.text.learn import learn_tokenizer
from builder.weights import save_weights, weights_of

CONTROL_IDS = 4
NEVER = -1e4
"""The bias of EOS where every output has to reach its limit."""
SHARE = 0.6
"""How long outputs become on average, of the limit, where they end by themselves."""
BEYOND = 64
"""Tokens by which an output may be longer than its source, so that the option alone counts."""
BEAMS = 4
SEARCHES = {
    "greedy": (),
    "beam": (f"generation={{kind: beam, beams: {BEAMS}, max_length: {{plus: {BEYOND}}}}}",),
}
PRECISIONS = {"float32": (), "int8": ("export.precision={kind: int8, max_drop: 100}",)}
"""What is set in the blueprint, which says neither; random weights have no metric to lose."""


@dataclass(frozen=True)
class Size:
    """Sizes of a network, both stacks alike."""

    name: str
    layers: int
    d_model: int
    heads: int
    d_ff: int
    vocab_size: int

    def sections(self) -> dict[str, Any]:
        """The blueprint: the paper's choices, and a bias of the output that decides about EOS."""
        return {
            "transom": 1,
            "name": self.name,
            "model": {
                "d_model": self.d_model,
                "layers": self.layers,
                "vocab_size": self.vocab_size,
                "attention": {"heads": self.heads},
                "feed_forward": {"d_ff": self.d_ff},
                "embeddings": {"output": {"bias": True}},
            },
            "generation": {"kind": "greedy", "max_length": {"plus": BEYOND}},
        }


def strategy(folder: Path, search: str) -> Any:
    """The search of that name, as the run in `folder` does it."""
    return load_blueprint(folder / "blueprint.yaml", SEARCHES[search]).generation


SMALL = Size("small", layers=3, d_model=256, heads=4, d_ff=1024, vocab_size=8_000)
BASE = Size("base", layers=6, d_model=512, heads=8, d_ff=2048, vocab_size=32_000)


def draw_network(size: Size, folder: Path, seed: int = 1) -> tuple[Blueprint, Transformer]:
    """Build a network that never writes EOS."""
    path = folder / "drawn.yaml"
    path.write_text(json.dumps(size.sections()), encoding="utf-8")
    blueprint = load_blueprint(path)
    model = compile_model(blueprint.model).eval()
    draw_weights(model, torch.Generator().manual_seed(seed))
    return blueprint, model


@torch.no_grad()
def draw_weights(model: Transformer, generator: torch.Generator) -> None:
    """Draw every matrix, and the signs of the last norm.

    Sub-layers add little, so that states stay apart from layer to layer; the signs keep a network
    whose output is its embedding from repeating the token it has read.
    """
    layers: Any = model.decoder.layers
    added = (2 * len(layers)) ** -0.5
    for name, weight in model.named_parameters():
        if weight.dim() > 1:
            values = torch.randn(weight.shape, generator=generator)
            weight.copy_(values * weight.shape[1] ** -0.5 * (added if "out_proj" in name else 1.0))
    last = layers[-1].feed_forward_residual.norm.weight
    last.copy_(torch.randn(last.shape, generator=generator).sign())
    set_ending(model, NEVER)


@torch.no_grad()
def set_ending(model: Transformer, bias: float) -> None:
    """Set the bias of EOS."""
    if model.learned_bias is None:
        raise RuntimeError("no bias to set")
    model.learned_bias[EOS_ID] = bias


@torch.no_grad()
def natural_ending(model: Transformer, sources: list[list[int]], limit: int) -> float:
    """Find the bias of EOS under which outputs of different lengths end by themselves.

    `model` never writes EOS; the outputs of `sources` become `SHARE` of `limit` long on average.
    """
    gaps = _gaps(model, pad(sources), limit)  # [batch, limit]

    def mean(bias: float) -> float:
        over = gaps < bias
        first = torch.where(over.any(dim=1), over.int().argmax(dim=1) + 1, limit)
        return first.double().mean().item()

    low, high = float(gaps.min()), float(gaps.max())
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if mean(middle) > SHARE * limit else (low, middle)
    return high


def _gaps(model: Transformer, source_ids: Tensor, limit: int) -> Tensor:
    """By how much the best token is above EOS without its bias, at every step."""
    memory, caches = model.remember(source_ids), model.empty_caches(source_ids)
    last = torch.full((len(source_ids),), BOS_ID)
    gaps = []
    for position in range(limit):
        logits, caches = model.step(last, torch.tensor(position), memory=memory, caches=caches)
        best, last = logits.max(dim=1)
        gaps.append(best - (logits[:, EOS_ID] - NEVER))
    return torch.stack(gaps, dim=1)


def write_run(size: Size, blueprint: Blueprint, model: Transformer, folder: Path) -> None:
    """Write the run that training would have left, with a vocabulary of numbered words."""
    count = len(model.output) - CONTROL_IDS
    words = [f"w{number}" for number in range(count)]
    tokenizer = learn_tokenizer("word", words, vocab_size=len(model.output), lowercase=False)
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "blueprint.yaml": dump_blueprint(blueprint),
        "tokenizer.json": tokenizer.to_json(),
        "peer.json": json.dumps(asdict(size)),
        "proof.jsonl": json.dumps({"source": " ".join(words[:8]), "target": words[0]}) + "\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    save_weights(weights_of(model), folder / "weights.safetensors")
