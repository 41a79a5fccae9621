"""A network of ours as a model of CTranslate2, with the same weights, and its translations.

Imported, this file describes a network and asks; run by the Python of an environment that holds
ctranslate2, it answers. So neither engine is loaded into the process of the other.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engines.process import Process
from engines.server import serve, timed

if TYPE_CHECKING:
    from torch import Tensor, nn

    from builder.nn.decoder import Decoder
    from builder.nn.embedding import Embedding
    from builder.nn.encoder import Encoder
    from builder.nn.residual import Residual
    from builder.nn.transformer import Transformer

PACKAGE = "ctranslate2==4.8.5"
MODULE = "peers_ctranslate2"
BOS, EOS, UNKNOWN = "1", "2", "3"
"""Tokens are their ids, written as text."""
NEVER = -1e9
"""The bias of what is never written; there, −inf would turn a sum into no number."""
POSITIONS = 1024
"""Rows of the table of positions, unless ours are fewer."""
FUNCTIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "silu": "SWISH"}
GATES = {"reglu": "RELU", "geglu": "GELU", "geglu_tanh": "GELUTanh", "swiglu": "SWISH"}
ACTIVATIONS = FUNCTIONS | GATES

Arrays = dict[str, np.ndarray]


class UnsupportedError(Exception):
    """CTranslate2 has no such network."""


def convert(
    model: Transformer, folder: Path, *, python: str | Path, quantization: str = "float32"
) -> None:
    """Write `model` into `folder` as CTranslate2 reads it; `python` is of its environment.

    Raises:
        UnsupportedError: The network has something that CTranslate2 has not.
    """
    options, arrays = described(model)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as passing, Process(python, MODULE) as peer:
        weights = Path(passing) / "weights.npz"
        np.savez(weights, **arrays)  # type: ignore[arg-type]
        peer.ask(
            "convert",
            weights=str(weights),
            folder=str(folder),
            quantization=quantization,
            options=options,
        )


class Translator:
    """A converted model, loaded in a process of its own."""

    def __init__(
        self, python: str | Path, folder: Path, *, compute_type: str, threads: int
    ) -> None:
        self._process = Process(python, MODULE)
        self._process.ask("load", folder=str(folder), compute_type=compute_type, threads=threads)

    def translate(
        self, sources: Sequence[Sequence[int]], *, beams: int = 1, **options: Any
    ) -> tuple[list[list[int]], float]:
        """Return the best target of each source, EOS included where it was reached, and seconds.

        Sources end with EOS and hold no padding; all are read at once unless `max_batch_size` says
        otherwise. `options` are those of its `translate_batch`. Its length penalty is another than
        ours: it divides by length^penalty.
        """
        answer = self._process.ask(
            "translate", sources=[list(ids) for ids in sources], beam_size=beams, **options
        )
        return answer["targets"], answer["seconds"]

    def close(self) -> None:
        """Let its process end."""
        self._process.close()


def described(model: Transformer) -> tuple[dict[str, Any], Arrays]:
    """Say how CTranslate2 has to build the network, and name its arrays as CTranslate2 does."""
    _refuse("scaled outputs", model.output_scale != 1.0)
    stacks = {
        "encoder": (model.encoder, model.source_embedding, "attention_residual"),
        "decoder": (model.decoder, model.target_embedding, "self_residual"),
    }
    options: dict[str, Any] = {}
    arrays: Arrays = {}
    for name, (stack, embedding, residual) in stacks.items():
        layers: Any = stack.layers
        options[name] = _options(stack, getattr(layers[0], residual), embedding)
        _add_embedding(arrays, name, embedding)
        for number, layer in enumerate(layers):
            _add_layer(arrays, f"{name}/layer_{number}", layer)
        _add_norm(arrays, f"{name}/layer_norm", stack.final_norm)
    bias = model.output_bias
    if model.learned_bias is not None:
        bias = bias + model.learned_bias
    arrays["decoder/projection/weight"] = _array(model.output)
    arrays["decoder/projection/bias"] = _array(bias.clamp(min=NEVER))
    return options, arrays


def _options(stack: Encoder | Decoder, residual: Residual, embedding: Embedding) -> dict[str, Any]:
    """What CTranslate2 is told of a stack."""
    layers: Any = stack.layers
    attention, feed_forward = layers[0].self_attention, layers[0].feed_forward
    _refuse(f"norms in the place `{residual.placement}`", residual.placement == "sandwich")
    _refuse("weighted residuals", residual.alpha != 1.0)
    _refuse(feed_forward.activation, feed_forward.activation not in ACTIVATIONS)
    _refuse("positions inside of attention", any(each is not None for each in stack.positions))
    _refuse("masks", any(_hides(mask) for mask in stack.masks))
    return {
        "num_layers": len(layers),
        "num_heads": attention.heads,
        "pre_norm": residual.placement == "pre",
        "no_final_norm": not hasattr(stack.final_norm, "eps"),
        "activation": ACTIVATIONS[feed_forward.activation],
        "ffn_glu": feed_forward.gate_proj is not None,
        "rms_norm": not hasattr(residual.norm, "bias"),
        "layernorm_embedding": hasattr(embedding.norm, "eps"),
        "scale_embeddings": embedding.scale != 1.0,
        "eps": residual.norm.eps,
    }


def _hides(mask: Any) -> bool:
    """Whether a mask hides anything that is not padding, or in a decoder ahead."""
    inner = getattr(mask, "inner", None)
    if inner is not None:
        return inner.hides_past
    return mask.hides_past or getattr(mask, "after", 0) is not None


def _add_embedding(arrays: Arrays, name: str, embedding: Embedding) -> None:
    import torch

    table = "embeddings_0" if name == "encoder" else "embeddings"
    arrays[f"{name}/{table}/weight"] = _array(embedding.tokens.weight)
    rows, width = embedding.max_length or POSITIONS, embedding.tokens.embedding_dim
    vectors = torch.zeros(rows, width)
    if embedding.positions is not None:
        vectors = embedding.positions(torch.arange(rows))
    arrays[f"{name}/position_encodings/encodings"] = _array(vectors)
    _add_norm(arrays, f"{name}/layernorm_embedding", embedding.norm)


def _add_layer(arrays: Arrays, place: str, layer: Any) -> None:
    encodes = hasattr(layer, "attention_residual")
    residual = layer.attention_residual if encodes else layer.self_residual
    _add_attention(arrays, f"{place}/self_attention", layer.self_attention, residual, fused="qkv")
    if not encodes:
        cross, residual = layer.cross_attention, layer.cross_residual
        _add_attention(arrays, f"{place}/attention", cross, residual, fused="kv")
    network = layer.feed_forward
    if network.gate_proj is None:
        _add_linear(arrays, f"{place}/ffn/linear_0", network.in_proj)
    else:
        _add_linear(arrays, f"{place}/ffn/linear_0", network.gate_proj)
        _add_linear(arrays, f"{place}/ffn/linear_0_noact", network.in_proj)
    _add_linear(arrays, f"{place}/ffn/linear_1", network.out_proj)
    _add_norm(arrays, f"{place}/ffn/layer_norm", layer.feed_forward_residual.norm)


def _add_attention(
    arrays: Arrays, place: str, attention: Any, residual: Residual, *, fused: str
) -> None:
    """Add an attention; `fused` projections share one product."""
    width = attention.q_proj.out_features
    shapes = {attention.k_proj.weight.shape, attention.v_proj.weight.shape}
    _refuse("heads of another width", shapes != {attention.q_proj.weight.shape})
    _refuse("heads of another width", width != attention.q_proj.in_features)
    _refuse("another scale", attention.scale != (width // attention.heads) ** -0.5)
    _refuse("norms or limits of products", attention.softcap or hasattr(attention.q_norm, "eps"))
    alone = [] if fused == "qkv" else [(attention.q_proj,)]
    together = tuple(getattr(attention, f"{letter}_proj") for letter in fused)
    for number, projections in enumerate([*alone, together, (attention.out_proj,)]):
        _add_linear(arrays, f"{place}/linear_{number}", *projections)
    _add_norm(arrays, f"{place}/layer_norm", residual.norm)


def _add_linear(arrays: Arrays, place: str, *projections: nn.Linear) -> None:
    arrays[f"{place}/weight"] = np.concatenate([_array(each.weight) for each in projections])
    if projections[0].bias is not None:
        arrays[f"{place}/bias"] = np.concatenate([_array(each.bias) for each in projections])


def _add_norm(arrays: Arrays, place: str, norm: Any) -> None:
    """Add a norm, if it is one."""
    if not hasattr(norm, "eps"):
        return
    arrays[f"{place}/gamma"] = _array(norm.weight)
    if hasattr(norm, "bias"):
        none = norm.bias is None
        arrays[f"{place}/beta"] = _array(norm.weight) * 0 if none else _array(norm.bias)


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().float().cpu().numpy()


def _refuse(what: str, there: object) -> None:
    if there:
        raise UnsupportedError(f"CTranslate2 has no such network: {what}")


class Answers:
    """The side that runs where ctranslate2 is."""

    def __init__(self) -> None:
        self._loaded: Any = None
        self._beams = 1

    def convert(
        self, weights: str, folder: str, quantization: str, options: dict[str, Any]
    ) -> None:
        """Write a model of CTranslate2."""
        from ctranslate2.specs import model_spec

        spec = _specification(options)
        arrays = np.load(weights)
        for name in arrays.files:
            place, attribute = name.rsplit("/", 1)
            setattr(model_spec.index_spec(spec, place), attribute, arrays[name])
        for side in ("source", "target"):
            size = getattr(spec, f"get_{side}_vocabulary_size")()
            size = size[0] if isinstance(size, list) else size
            getattr(spec, f"register_{side}_vocabulary")([str(number) for number in range(size)])
        spec.validate()
        spec.optimize(quantization=quantization)
        spec.save(folder)

    def load(self, folder: str, compute_type: str, threads: int, beams: int = 1) -> None:
        """Take a model in place of the one before."""
        import ctranslate2

        self._beams = beams
        self._loaded = ctranslate2.Translator(
            folder, compute_type=compute_type, intra_threads=threads, inter_threads=1
        )

    def translate(self, sources: list[list[int]], **options: Any) -> dict[str, Any]:
        """Translate ids; the seconds are those of the engine's own call."""
        tokens = [list(map(str, ids)) for ids in sources]
        seconds, results = timed(
            lambda: self._loaded.translate_batch(tokens, return_end_token=True, **options)
        )
        targets = [list(map(int, result.hypotheses[0])) for result in results]
        return {"targets": targets, **seconds}

    def run(self, sources: list[list[int]], limit: int) -> dict[str, Any]:
        """Translate as every engine is asked to, with the beams that were given before."""
        return self.translate(sources, beam_size=self._beams, max_decoding_length=limit)


def _specification(options: dict[str, Any]) -> Any:
    """An empty model of the right shape."""
    from ctranslate2.specs import common_spec, transformer_spec

    kinds = {
        "encoder": transformer_spec.TransformerEncoderSpec,
        "decoder": transformer_spec.TransformerDecoderSpec,
    }
    stacks = {}
    for name, kind in kinds.items():
        given = dict(options[name])
        scale, eps = given.pop("scale_embeddings"), given.pop("eps")
        activation = getattr(common_spec.Activation, given.pop("activation"))
        stacks[name] = kind(activation=activation, **given)
        stacks[name].scale_embeddings = scale
    spec = transformer_spec.TransformerSpec(**stacks)
    spec.config.layer_norm_epsilon = eps
    for key, token in {"bos": BOS, "eos": EOS, "unk": UNKNOWN, "decoder_start": BOS}.items():
        setattr(spec.config, f"{key}_token", token)
    return spec


if __name__ == "__main__":
    answers = Answers()
    operations = (answers.convert, answers.load, answers.run, answers.translate)
    serve({each.__name__: each for each in operations})
