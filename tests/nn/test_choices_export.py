"""Choices that change the graph, exported: the engine's tokens against PyTorch's."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor

from builder.decoding import Decoding
from builder.export.join import join
from builder.export.lively import redrawn
from builder.export.side_data import serialised
from builder.export.trace import trace
from builder.generate import as_tensors
from builder.nn.mask import Band, Block, Prefix
from builder.nn.transformer import PAD_ID
from builder.search.constraints import Rules
from builder.search.limits import LengthRule
from builder.search.search import Search
from tests.nn.choice import VOCAB, Choice

pytestmark = pytest.mark.slow

RULE = LengthRule(Fraction(1), 6, None)
BEAM = {"max_length": 99, "min_length": 1, "beams": 3, "n_best": 3, "length_penalty": 0.6}
CHOICES: dict[str, dict[str, Any]] = {
    "grouped, bias, window, softcap": {
        "kv_heads": 2,
        "positions": ("bias",),
        "softcap": 3.0,
        "encoder_masks": (Band(2, 1), Band()),
        "decoder_masks": (Band(2), Band()),
        "placement": "sandwich",
        "output_scale": 0.5,
        "learned_bias": True,
    },
    "multi-query, keys and alibi, blocks, one layer": {
        "kv_heads": 1,
        "positions": ("keys", "alibi", "partial"),
        "qk_norm": True,
        "encoder_masks": (Prefix(3), Block(4), Band(1, 1, global_tokens=1)),
        "decoder_masks": (Band(), Block(4), Band(1, global_tokens=1)),
        "placement": "pre",
        "layers": 3,
        "one_layer": True,
        "added": "sinusoidal",
        "embedding_norm": True,
    },
}
LIVELY = [2, 6]
"""Seeds of weights under which their outputs vary."""


def draw(rows: int, width: int) -> Tensor:
    ids = torch.randint(3, VOCAB, (rows, width))
    lengths = torch.randint(1, width + 1, (rows,))
    lengths[-1] = width
    return torch.where(torch.arange(width)[None] < lengths[:, None], ids, PAD_ID)


@pytest.mark.parametrize(("name", "seed"), list(zip(CHOICES, LIVELY, strict=True)), ids=CHOICES)
@torch.no_grad()
def test_the_engine_writes_what_pytorch_does(name: str, seed: int) -> None:
    """With beams, which share a cache."""
    torch.set_default_dtype(torch.float32)
    network = redrawn(Choice(**CHOICES[name]).network(), seed, gain=1.0)
    decoding = Decoding(network, Search("beam", RULE, Rules(no_repeat_ngram_size=3)))
    asked, places = as_tensors(BEAM, None, torch.device("cpu"))
    graph = join(trace(decoding, asked, places, opset=20), BEAM, inputs=list(BEAM))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    engine = onnxruntime.InferenceSession(
        serialised(graph), options, providers=["CPUExecutionProvider"]
    )

    different = set()
    for rows, width in [(1, 1), (1, 2), (2, 3), (3, 17), (5, 30), (7, 7)]:
        source = draw(rows, width)
        theirs = decoding.generate(source, asked, places)
        ours = engine.run(None, {"source_ids": source.numpy()})
        np.testing.assert_array_equal(ours[0], theirs.target_ids)
        np.testing.assert_allclose(ours[1], theirs.scores, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(ours[2], theirs.lengths)
        np.testing.assert_array_equal(ours[3], theirs.ended)
        different |= set(map(tuple, ours[0].reshape(-1, ours[0].shape[2]).tolist()))
    assert len(different) > 5
    assert len({token for ids in different for token in ids}) > 5
