"""Networks as CTranslate2 is told of them; its own output is compared by the benchmarks."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from builder.blueprint.load import load_blueprint
from builder.compile import compile_model
from builder.generate import pad
from builder.nn.transformer import Transformer
from builder.text.control import BOS_ID, EOS_ID

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
VOCABULARY = 40
SOURCES = [[5, 9, 17, 30, 2], [8, 2], [11, 11, 39, 2]]
LENGTH = 9
POST: dict[str, Any] = {"attention": {"heads": 4}, "feed_forward": {"d_ff": 24}}
PRE = {
    "attention": {"heads": 4, "bias": True},
    "feed_forward": {"d_ff": 24, "activation": "gelu"},
    "norm": {"kind": "layer_norm", "placement": "pre"},
}
GATED = {
    "attention": {"heads": 4},
    "feed_forward": {"d_ff": 24, "activation": "swiglu", "bias": False},
    "norm": {"kind": "rms_norm", "placement": "pre"},
    "positions": {"kind": "learned", "max_length": 30},
    "embeddings": {"tie": "none", "scale": False, "output": {"bias": True}},
}


@pytest.fixture(scope="module")
def peer() -> ModuleType:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return __import__("peers_ctranslate2")
    finally:
        sys.path.remove(str(BENCHMARKS))


def network(folder: Path, model: dict[str, Any]) -> Transformer:
    path = folder / "blueprint.yaml"
    sizes = {"d_model": 16, "layers": 2, "vocab_size": VOCABULARY}
    path.write_text(json.dumps({"transom": 1, "model": {**sizes, **model}}), encoding="utf-8")
    ours = compile_model(load_blueprint(path).model).eval()
    draw(ours)
    return ours


@torch.no_grad()
def draw(ours: Transformer) -> None:
    """Draw every weight so that none is a plain 0 or 1, and that outputs vary.

    The signs of the last norm keep a tied network from repeating the token that it has read.
    """
    generator = torch.Generator().manual_seed(3)
    for name, weight in ours.named_parameters():
        values = torch.randn(weight.shape, generator=generator)
        if weight.dim() > 1:
            weight.copy_(values / weight.shape[-1] ** 0.5 * (0.5 if "out_proj" in name else 1.0))
        else:
            weight.copy_(weight + 0.1 * values)
    for norm in (ours.decoder.layers[-1].feed_forward_residual.norm, ours.decoder.final_norm):
        if hasattr(norm, "eps"):
            norm.weight.mul_(torch.randn(norm.weight.shape, generator=generator).sign())


@pytest.mark.parametrize("model", [POST, PRE, GATED], ids=["post", "pre", "gated"])
def test_every_weight_is_told_once(peer: ModuleType, tmp_path: Path, model: dict[str, Any]) -> None:
    ours = network(tmp_path, model)

    options, arrays = peer.described(ours)

    tied = ours.output is ours.target_embedding.tokens.weight
    told = sum(each.size for name, each in arrays.items() if "encodings" not in name)
    tables = [ours.source_embedding.positions, ours.target_embedding.positions]
    own = sum(each.numel() for each in ours.parameters())
    own -= sum(each.numel() for table in tables for each in table.parameters())
    own += 2 * ours.output.numel() if tied else 0
    assert told == own + (0 if ours.learned_bias is not None else VOCABULARY)
    assert [options[stack]["num_layers"] for stack in ("encoder", "decoder")] == [2, 2]
    assert np.isfinite(arrays["decoder/projection/bias"]).all()


@pytest.mark.parametrize(
    "choice",
    [
        {"positions": "rotary"},
        {"positions": "alibi"},
        {"encoder": {"mask": "causal"}},
        {"attention": {"heads": 4, "kv_heads": 2}},
        {"attention": {"heads": 4, "d_k": 8}},
        {"attention": {"heads": 4, "softcap": 20.0}},
        {"norm": {"kind": "layer_norm", "placement": "sandwich"}},
        {"norm": {"kind": "layer_norm", "placement": "deepnorm"}},
        {"feed_forward": {"d_ff": 24, "activation": "relu_squared"}},
    ],
    ids=str,
)
def test_what_it_cannot_build_is_refused(
    peer: ModuleType, tmp_path: Path, choice: dict[str, Any]
) -> None:
    ours = network(tmp_path, {**POST, **choice})

    with pytest.raises(peer.UnsupportedError):
        peer.described(ours)


@pytest.mark.skipif(not importlib.util.find_spec("ctranslate2"), reason="needs ctranslate2")
@pytest.mark.parametrize("model", [POST, PRE, GATED], ids=["post", "pre", "gated"])
def test_writes_the_same(peer: ModuleType, tmp_path: Path, model: dict[str, Any]) -> None:
    ours = network(tmp_path, model)
    expected = greedy(ours)

    peer.convert(ours, tmp_path / "peer", python=sys.executable)
    translator = peer.Translator(
        sys.executable, tmp_path / "peer", compute_type="float32", threads=1
    )
    targets, seconds = translator.translate(SOURCES, max_decoding_length=LENGTH)
    translator.close()

    assert targets == expected
    assert seconds > 0
    assert len({token for ids in expected for token in ids}) > 2


@torch.no_grad()
def greedy(ours: Transformer) -> list[list[int]]:
    """Write the likeliest token at every place, each time from the beginning."""
    target = torch.full((len(SOURCES), 1), BOS_ID)
    for _ in range(LENGTH):
        best = ours(pad(SOURCES), target)[:, -1].argmax(dim=1)
        target = torch.cat([target, best[:, None]], dim=1)
    rows = target[:, 1:].tolist()
    return [ids[: ids.index(EOS_ID) + 1] if EOS_ID in ids else ids for ids in rows]
