"""The whole network, as it is written and as it is resolved."""

from __future__ import annotations

from typing import TypeVar

from builder.blueprint.model.attention import Attention, head_widths
from builder.blueprint.model.embeddings import Embeddings, Vocabularies
from builder.blueprint.model.init import Init, Xavier
from builder.blueprint.model.norm import has_final
from builder.blueprint.model.stack import Decoder, Encoder, Stack
from builder.blueprint.section import Section, Width


class Model(Section):
    """The network, resolved: what holds for a stack stands in that stack."""

    d_model: Width = 512
    """Width of the network."""
    vocab_size: Vocabularies | None = None
    """Known from a tokenizer unless given."""
    embeddings: Embeddings = Embeddings()
    encoder: Encoder = Encoder()
    decoder: Decoder = Decoder()
    init: Init = Xavier(kind="xavier")
    """How weights are drawn before the first step."""


class WrittenModel(Stack, Model):
    """The network as a user writes it: the keys of a stack may stand once, for both stacks."""


S = TypeVar("S", bound=Stack)


def with_defaults(model: Model) -> Model:
    """The same model, with every default written out that depends on another value.

    Where the heads differ by layer, their widths do too, and stay unwritten.
    """
    encoder = _settled(model.encoder, model.d_model)
    decoder = _settled(model.decoder, model.d_model)
    cross = {"cross_attention": _explicit(model.decoder.cross_attention, model.d_model)}
    stacks = {"encoder": encoder, "decoder": decoder.model_copy(update=cross)}
    return model.model_copy(update=stacks)


def _settled(stack: S, d_model: int) -> S:
    update = {
        "attention": _explicit(stack.attention, d_model),
        "norm": stack.norm.model_copy(update={"final": has_final(stack.norm)}),
    }
    return stack.model_copy(update=update)


def _explicit(attention: Attention, d_model: int) -> Attention:
    if len(set(attention.heads)) > 1:
        d_k = attention.d_k
        return attention.model_copy(update={"d_v": attention.d_v or d_k})
    d_k, d_v = head_widths(attention, d_model, 0)
    kv_heads = attention.kv_heads or attention.heads[0]
    return attention.model_copy(update={"d_k": d_k, "d_v": d_v, "kv_heads": kv_heads})
