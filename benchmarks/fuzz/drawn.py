"""A seed into the text of a valid blueprint that uses choices of the whole language."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import yaml

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.load import parse_blueprint
from builder.errors import BlueprintError

from . import sections
from .sections import Values

ACROSS = ("source_target", "source_output", "all")
"""The ties that need one vocabulary on both sides."""
BY_LAYER = frozenset({"heads", "d_ff", "positions", "mask"})


class Drawn(NamedTuple):
    """A blueprint as it is written and as it is resolved."""

    seed: int
    text: str
    blueprint: Blueprint


def draw_blueprint(seed: int, *, deepest: int = 3) -> Drawn:
    """Draw a valid blueprint with at most `deepest` layers in a stack."""
    draw = Random(seed)  # noqa: S311 - to be drawn again
    while True:
        text = _text(draw, deepest)
        try:
            blueprint = parse_blueprint(text, f"seed-{seed}.yaml", name=f"seed-{seed}")
        except BlueprintError:
            continue  # few are refused, and the loader knows best which
        return Drawn(seed, text, blueprint)


def _text(draw: Random, deepest: int) -> str:
    d_model = draw.choice([8, 12, 15, 16, 20, 24])
    encoder = sections.stack(draw, d_model, deepest=deepest, decoder=False)
    decoder = sections.stack(draw, d_model, deepest=deepest, decoder=True)
    if draw.random() < 0.5:  # one text for both sides, but for the masks
        decoder = {**encoder, "mask": decoder["mask"]} if _is_short(decoder, encoder) else decoder
    model: Values = {
        "d_model": d_model,
        "embeddings": sections.embeddings(draw, d_model),
        "init": sections.init(draw),
    }
    one = model["embeddings"]["tie"] in ACROSS or draw.random() < 0.3
    size = {"source": draw.randint(8, 30), "target": draw.randint(8, 30)}
    model["vocab_size"] = size["source"] if one else size
    common, encoder, decoder = _spread(draw, encoder, decoder)
    if draw.random() < 0.5:
        decoder["cross_attention"] = sections.attention(draw, d_model, 1)
    model |= {**common, "encoder": encoder, "decoder": decoder}
    document = {"transom": 1, "model": _shuffled(draw, _written(draw, model))}
    flow = draw.choice([None, False, True])
    return yaml.safe_dump(document, sort_keys=False, default_flow_style=flow, width=100)


def _is_short(decoder: Values, encoder: Values) -> bool:
    """Whether the decoder's list of masks is no longer than the encoder is deep."""
    masks = decoder["mask"]
    return not isinstance(masks, list) or (
        len(masks) <= encoder["layers"] and not encoder["share_layers"]
    )


def _spread(draw: Random, encoder: Values, decoder: Values) -> tuple[Values, Values, Values]:
    """What stands once for both sides, and what each says itself."""
    common: Values = {}
    encoder, decoder = dict(encoder), dict(decoder)
    for key in list(encoder):
        if key == "mask":
            continue
        if encoder[key] == decoder[key]:
            if draw.random() < 0.8:
                common[key] = encoder.pop(key)
                del decoder[key]
        elif draw.random() < 0.3:  # the decoder's is merged into it
            common[key] = encoder.pop(key)
    return common, encoder, decoder


def _written(draw: Random, value: Any, key: str = "") -> Any:
    """The same in a short form or a long one."""
    if key in BY_LAYER and not isinstance(value, list) and draw.random() < 0.2:
        value = [value]
    if isinstance(value, list):
        return [_written(draw, each) for each in value]
    if isinstance(value, dict):
        if value.keys() == {"kind"} and draw.random() < 0.6:
            return value["kind"]
        return _shuffled(draw, {k: _written(draw, v, k) for k, v in value.items()})
    if isinstance(value, int) and not isinstance(value, bool) and draw.random() < 0.1:
        return float(value)
    return value


def _shuffled(draw: Random, section: Values) -> Values:
    """The same section, its keys in another order."""
    return dict(draw.sample(list(section.items()), len(section)))
