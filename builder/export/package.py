"""A graph and what belongs to it into the bytes of one file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace

import onnx
import onnx_ir as ir

from builder.blueprint.write import dump_blueprint
from builder.export.proof import Proof
from builder.export.side_data import Content, serialised
from builder.generate import Generator
from builder.run import Run
from builder.runtime import digest, side_file
from builder.runtime.metadata import FORMAT
from builder.text.control import BOS_ID, EOS_ID, PAD_ID, UNK_ID


def pack(graph: ir.Model, entries: Mapping[str, str], content: Content) -> Content:
    """Serialise `graph` with its metadata, and seal it with a digest.

    `content` is the same graph as it was proved; the second file, if there is one, stays as it is,
    and is sealed by its own digest among the metadata.
    """
    side = {} if content.side is None else {side_file.KEY: content.side.to_json()}
    every = {**entries, **side}
    graph.metadata_props.clear()
    graph.metadata_props.update(every)
    data = digest.seal(serialised(graph))
    _check(data, every)
    return replace(content, data=data)


def _check(data: bytes, entries: Mapping[str, str]) -> None:
    """Make sure that sealing changed the digest and nothing else."""
    stored = onnx.ModelProto.FromString(data).metadata_props
    found = {entry.key: entry.value for entry in stored}
    sealed = found.pop(digest.KEY, None)
    expected = {key: value for key, value in entries.items() if key != digest.KEY}
    if found != expected or sealed in (None, digest.BLANK) or digest.is_damaged(data):
        raise RuntimeError("the packed file does not hold the metadata that it was given")


def metadata(run: Run, generator: Generator, proof: Proof) -> dict[str, str]:
    """Return the strings that the file carries; none holds a path, nor a user's line unasked."""
    model = generator.decoding.model
    limit = run.blueprint.generation.max_length
    rows = (model.source_embedding.tokens.num_embeddings, len(model.output))
    limits = {
        "source": model.source_embedding.max_length,
        "target": model.target_embedding.max_length,
        "ratio": limit.ratio,
        "plus": limit.plus,
    }
    return {
        "transom.format": FORMAT,
        "transom.name": run.name,
        "transom.blueprint": dump_blueprint(run.blueprint.model_copy(update={"data": None})),
        "transom.limits": json.dumps(limits),
        "transom.options": json.dumps(dict(generator.options)),
        "transom.special_ids": json.dumps(
            {"pad": PAD_ID, "bos": BOS_ID, "eos": EOS_ID, "unk": UNK_ID}
        ),
        "transom.vocab_size": json.dumps(dict(zip(("source", "target"), rows, strict=True))),
        "transom.proof": json.dumps(asdict(proof)),
        digest.KEY: digest.BLANK,
        **_tokenizers(run),
    }


def _tokenizers(run: Run) -> dict[str, str]:
    source, target = run.source_tokenizer, run.target_tokenizer
    if source is target:
        return {"transom.tokenizer": source.to_json()}
    return {
        "transom.tokenizer.source": source.to_json(),
        "transom.tokenizer.target": target.to_json(),
    }
