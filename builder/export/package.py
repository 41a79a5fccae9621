"""A graph and what belongs to it into the bytes of one file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict

import onnx_ir as ir

from builder.blueprint.write import dump_blueprint
from builder.export.proof import Proof
from builder.nn.transformer import Transformer
from builder.run import Run
from builder.text.control import BOS_ID, EOS_ID, PAD_ID, UNK_ID

FORMAT = "1"
"""Version of the names below."""
BLANK_DIGEST = "0" * 64
"""Stands in the file while its digest is computed."""


def pack(graph: ir.Model, run: Run, model: Transformer, proof: Proof) -> bytes:
    """Serialise `graph` with everything that running it needs, and seal it with a digest."""
    graph.metadata_props.clear()
    graph.metadata_props.update(metadata(run, model, proof))
    data = ir.to_proto(graph).SerializeToString(deterministic=True)
    return data.replace(BLANK_DIGEST.encode(), hashlib.sha256(data).hexdigest().encode())


def metadata(run: Run, model: Transformer, proof: Proof) -> dict[str, str]:
    """Return the strings that the file carries; none holds a path or a user's line."""
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
        "transom.special_ids": json.dumps(
            {"pad": PAD_ID, "bos": BOS_ID, "eos": EOS_ID, "unk": UNK_ID}
        ),
        "transom.vocab_size": json.dumps(dict(zip(("source", "target"), rows, strict=True))),
        "transom.proof": json.dumps(asdict(proof)),
        "transom.digest": BLANK_DIGEST,
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
