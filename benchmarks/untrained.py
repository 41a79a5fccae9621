"""A blueprint into a run that nobody trained, for what does not depend on how good a model is."""

from __future__ import annotations

import json
from pathlib import Path

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.write import dump_blueprint
from builder.compile import compile_model
from builder.export.lines import random_batches
from builder.export.lively import lively
from builder.generate import Generator
from builder.run import BLUEPRINT, PROOF, TOKENIZER, WEIGHTS
from builder.text.tokenizer import TextTokenizer
from builder.weights import save_weights, weights_of


def write_run(
    folder: Path, blueprint: Blueprint, tokenizer: TextTokenizer, lines: list[str]
) -> None:
    """Write a run of random weights, under which outputs vary, as export wants them.

    `lines` are what export compares beside random ones.
    """
    generator = Generator.of(
        compile_model(blueprint.model).eval(), (tokenizer, tokenizer), blueprint.generation
    )
    network = lively(generator, random_batches(generator)).decoding.model
    pairs = [json.dumps({"source": line, "target": line}) for line in lines]
    folder.mkdir(parents=True, exist_ok=True)
    text = dump_blueprint(blueprint.model_copy(update={"data": None}))
    (folder / BLUEPRINT).write_text(text, encoding="utf-8")
    (folder / TOKENIZER).write_text(tokenizer.to_json(), encoding="utf-8")
    (folder / PROOF).write_text("\n".join([*pairs, ""]), encoding="utf-8")
    save_weights(weights_of(network), folder / WEIGHTS)
