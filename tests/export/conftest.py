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
from builder.export.lines import random_batches
from builder.export.lively import lively as with_lively_weights
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
            batches = random_batches(network)
            network = with_lively_weights(network, blueprint.generation, batches)
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
