"""Every choice of the model language: what is refused, where, and what would be right."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.load import parse_blueprint
from builder.blueprint.write import dump_blueprint
from builder.errors import Problem

Parse = Callable[..., Blueprint]
Refuse = Callable[..., list[Problem]]

CHOICES = """
model:
  d_model: 32
  layers: 2
  attention: {heads: 4, kv_heads: 2, scale: 0.5, qk_norm: true, softcap: 30}
  feed_forward: {d_ff: 8, activation: geglu}
  norm: {kind: layer_norm, placement: sandwich, bias: false}
  embeddings: {norm: true, output: {scale: 0.25, bias: true}}
  init: depth_scaled
  encoder:
    positions: [{kind: rotary, fraction: 0.5, scaling: 2}, alibi]
    mask: [{kind: block, size: 4}, {kind: prefix, length: 3}]
  decoder:
    share_layers: true
    positions: {kind: relative_keys, max_distance: 4}
    mask: {kind: window, before: 2, global_tokens: 1}
    norm: {placement: deepnorm, final: true}
"""


def test_every_choice_is_read_and_resolved(parse: Parse) -> None:
    blueprint = parse(CHOICES)
    model = blueprint.model

    assert [mask.kind for mask in model.encoder.mask] == ["block", "prefix"]
    assert [each.kind for each in model.encoder.positions] == ["rotary", "alibi"]
    assert model.decoder.cross_attention.kv_heads == 2
    assert (model.encoder.norm.final, model.decoder.norm.final) == (True, True)
    assert (model.encoder.share_layers, model.decoder.share_layers) == (False, True)
    assert parse_blueprint(dump_blueprint(blueprint), "again.yaml") == blueprint


@pytest.mark.parametrize(
    ("placement", "final"),
    [("post", False), ("deepnorm", False), ("pre", True), ("sandwich", True)],
)
def test_a_final_norm_follows_the_placement(parse: Parse, placement: str, *, final: bool) -> None:
    text = f"model: {{norm: {{placement: {placement}}}}}"
    other = str(not final).lower()

    assert parse(text).model.encoder.norm.final is final
    assert parse(text, f"model.norm.final={other}").model.encoder.norm.final is not final


def attention(keys: str) -> str:
    return f"model: {{d_model: 64, attention: {{{keys}}}}}"


def positions(keys: str, more: str = "") -> str:
    return f"model: {{d_model: 512, {more}encoder: {{positions: {{{keys}}}}}}}"


@pytest.mark.parametrize(
    ("text", "path", "word"),
    [
        (attention("heads: 8, kv_heads: 3"), "model.attention.kv_heads", "1, 2, 4, 8"),
        (attention("heads: 4, kv_heads: 8"), "model.attention.kv_heads", "1, 2, 4"),
        (attention("heads: [8, 4], kv_heads: 8"), "model.attention.kv_heads", "1, 2, 4"),
        (attention("kv_heads: 0"), "model.attention.kv_heads", "from 1"),
        (attention("scale: 0"), "model.attention.scale", "above 0"),
        (attention("softcap: -1"), "model.attention.softcap", "above 0"),
        (attention("qk_norm: rms_norm"), "model.attention.qk_norm", "true or false"),
        (
            positions("kind: rotary, fraction: 0.3"),
            "model.encoder.positions.fraction",
            "0.28125 (18 values) or 0.3125 (20 values)",
        ),
        (positions("kind: rotary, fraction: 0"), "model.encoder.positions.fraction", "above 0"),
        (positions("kind: rotary, fraction: 1.5"), "model.encoder.positions.fraction", "to 1"),
        (
            positions("kind: rotary, fraction: 0.5", "attention: {d_k: 6}, "),
            "model.encoder.positions.fraction",
            "4 values",
        ),
        (
            positions("kind: rotary", "attention: {d_k: 1}, "),
            "model.encoder.positions.kind",
            "even",
        ),
        (positions("kind: rotary, scaling: 0"), "model.encoder.positions.scaling", "above 0"),
        (
            positions("kind: relative_bias, buckets: 2"),
            "model.encoder.positions.buckets",
            "at least 4",
        ),
        (positions("kind: relative_bias, buckets: 7"), "model.encoder.positions.buckets", "even"),
        (
            positions("kind: relative_bias, max_distance: 2147483647"),
            "model.encoder.positions.max_distance",
            "a whole number from 1 to 65,536",
        ),
        (
            positions("kind: relative_bias, max_distance: 8"),
            "model.encoder.positions.max_distance",
            "above 8",
        ),
        (
            "model: {decoder: {positions: {kind: relative_bias, buckets: 1}}}",
            "model.decoder.positions.buckets",
            "at least 2",
        ),
        (
            positions("kind: relative_keys, max_distance: 0"),
            "model.encoder.positions.max_distance",
            "from 1",
        ),
        (positions("kind: alibi, base: 2"), "model.encoder.positions.base", "alibi"),
        (
            "model: {d_model: 3, attention: {heads: 1}, positions: {frequencies: fairseq}}",
            "model.positions.frequencies",
            "at least 4",
        ),
        (
            "model: {decoder: {mask: {kind: prefix, length: 3}}}",
            "model.decoder.mask.kind",
            "labels",
        ),
        ("model: {encoder: {mask: {kind: prefix, length: 0}}}", "model.encoder.mask.length", "1"),
        ("model: {encoder: {mask: {kind: block}}}", "model.encoder.mask.size", "size"),
        ("model: {encoder: {mask: block}}", "model.encoder.mask.size", "size"),
        ("model: {encoder: {mask: {kind: block, size: 0}}}", "model.encoder.mask.size", "1"),
        (
            "model: {encoder: {mask: {kind: window, before: 1, global_tokens: -1}}}",
            "model.encoder.mask.global_tokens",
            "0",
        ),
        (
            "model: {share_layers: true, attention: {heads: [8, 4]}}",
            "model.attention.heads",
            "share",
        ),
        (
            "model: {encoder: {mask: [full, causal], share_layers: true}}",
            "model.encoder.share_layers",
            "share",
        ),
        ("model: {norm: {kind: rms_norm, bias: false}}", "model.norm.bias", "layer_norm"),
        ("model: {norm: {placement: between}}", "model.norm.placement", "sandwich"),
        ("model: {feed_forward: {activation: tanh}}", "model.feed_forward.activation", "geglu"),
        ("model: {init: kaiming}", "model.init", "xavier"),
        ("model: {init: {kind: normal, std: 0}}", "model.init.std", "above 0"),
        (
            "model: {decoder: {cross_attention: {positions: alibi}}}",
            "model.decoder.cross_attention.positions",
            "no positions of its own",
        ),
        ("model: {embeddings: {output: {scale: 0}}}", "model.embeddings.output.scale", "above 0"),
    ],
)
def test_what_cannot_be_is_refused_at_its_place(
    refuse: Refuse, text: str, path: str, word: str
) -> None:
    problem = refuse(text)[0]

    assert problem.path == path
    assert word in problem.message
