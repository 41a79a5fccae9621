"""Runs made by hand: random weights under which outputs vary, no training."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.write import dump_blueprint
from builder.compile import compile_model
from builder.export.export import Export, export_run
from builder.export.lines import random_batches
from builder.export.lively import lively as with_lively_weights
from builder.generate import Generator
from builder.run import Run
from builder.text.learn import learn_tokenizer
from builder.weights import save_weights, weights_of

LINES = ["abc def", "fed cba", "a", "bad cab face", "deed", "feed a bee", "decade"]

MakeRun = Callable[..., Path]


@pytest.fixture(scope="session")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> MakeRun:
    """Give a function that writes a complete run folder for a small model."""

    def make(model: dict[str, Any] | None = None, *, lively: bool = True, **sections: Any) -> Path:
        tokenizer = learn_tokenizer("char", LINES, vocab_size=None, lowercase=False)
        size = {"source": tokenizer.vocab_size, "target": tokenizer.vocab_size}
        blueprint = Blueprint.model_validate(
            {"transom": 1, "name": "tiny", "model": small(model or {}, size), **sections}
        )
        network = compile_model(blueprint.model).eval()
        if lively:
            tokenizers = (tokenizer, tokenizer)
            generator = Generator.of(network, tokenizers, blueprint.generation)
            network = with_lively_weights(generator, random_batches(generator)).decoding.model
        else:
            torch.nn.init.zeros_(network.output)
        folder = tmp_path_factory.mktemp("run")
        (folder / "blueprint.yaml").write_text(dump_blueprint(blueprint), encoding="utf-8")
        (folder / "tokenizer.json").write_text(tokenizer.to_json(), encoding="utf-8")
        pairs = [json.dumps({"source": x, "target": x}, ensure_ascii=False) for x in LINES]
        (folder / "proof.jsonl").write_text("\n".join([*pairs, ""]), encoding="utf-8")
        save_weights(weights_of(network), folder / "weights.safetensors")
        return folder

    return make


@pytest.fixture(scope="session")
def exported(make_run: MakeRun) -> Callable[[str], Export]:
    """Give a function that returns the file of one of `VARIANTS`, exported when first asked for."""
    files: dict[str, Export] = {}

    def export(name: str) -> Export:
        if name not in files:
            model, sections = VARIANTS[name]
            files[name] = export_run(make_run(model, **sections))
        return files[name]

    return export


def generator_of(folder: Path) -> Generator:
    """What the run in `folder` generates with in PyTorch."""
    run = Run.open(folder)
    tokenizers = (run.source_tokenizer, run.target_tokenizer)
    return Generator.of(run.load_model(), tokenizers, run.blueprint.generation)


PRE = {"norm": {"kind": "rms_norm", "placement": "pre"}}
SWIGLU = {"feed_forward": {"d_ff": 48, "activation": "swiglu"}}
WINDOW = {"kind": "window", "before": 2}
ROTARY = {"kind": "rotary"}
ZEROS = f"As long as a digest: {'0' * 200}"

VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the paper": ({}, {"description": ZEROS}),
    "beam: rotary, pre, rms, swiglu, windows": (
        {
            "encoder": {"positions": ROTARY, "mask": {**WINDOW, "after": 1}, **PRE, **SWIGLU},
            "decoder": {"positions": ROTARY, "mask": WINDOW, **PRE, **SWIGLU},
            "embeddings": {"tie": "none", "scale": False},
        },
        {
            "generation": {
                "kind": "beam",
                "beams": 3,
                "n_best": 2,
                "no_repeat_ngram_size": 2,
                "suppress_tokens": ["a"],
                "target_prefix": True,
                "max_length": {"ratio": 1.5, "plus": 4},
            }
        },
    ),
    "sampling: learned, gelu, wide heads": (
        {
            "encoder": {
                "positions": {"kind": "learned", "max_length": 40},
                "attention": {"heads": 2, "d_k": 6, "d_v": 10, "bias": True},
                "feed_forward": {"d_ff": 48, "activation": "gelu", "bias": False},
            },
            "decoder": {"positions": {"kind": "learned", "max_length": 30}, "layers": 2},
            "embeddings": {"tie": "target_output"},
        },
        {
            "generation": {
                "kind": "sampling",
                "top_k": 8,
                "top_p": 0.9,
                "n_best": 3,
                "min_length": 2,
                "no_repeat_ngram_size": 3,
                "max_length": {"ratio": 1.0, "plus": 8},
            }
        },
    ),
    "greedy: no positions, causal encoder": (
        {
            "encoder": {"positions": {"kind": "none"}, "mask": {"kind": "causal"}},
            "decoder": {"positions": {"kind": "none"}},
            "embeddings": {"tie": "source_output"},
        },
        {
            "generation": {
                "kind": "greedy",
                "min_length": 2,
                "suppress_unknown": True,
                "target_prefix": True,
                "max_length": {"ratio": 1.5, "plus": 1},
            }
        },
    ),
}
"""Networks and strategies, with every rule somewhere: few, since an export takes long."""


def small(model: dict[str, Any], vocab_size: dict[str, int]) -> dict[str, Any]:
    """Fill in small sizes; `model` says what differs, for each stack."""
    attention = {"heads": 4, "d_k": 8, "d_v": 8}
    stack = {"layers": 1, "attention": attention, "feed_forward": {"d_ff": 48}}
    return {
        "d_model": 32,
        "vocab_size": vocab_size,
        "embeddings": model.get("embeddings", {}),
        "encoder": {**stack, **model.get("encoder", {})},
        "decoder": {**stack, "cross_attention": attention, **model.get("decoder", {})},
    }
