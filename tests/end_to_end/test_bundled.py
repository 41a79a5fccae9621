"""Every bundled blueprint, shrunk but with every choice kept, from training to the running file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.bundled import bundled_blueprints
from builder.blueprint.load import load_blueprint
from builder.export.export import export_run
from builder.generate import generate_lines
from builder.run import Run
from builder.runtime.package import Package
from builder.training.train import train

pytestmark = pytest.mark.slow

SIZES = (
    "model.d_model=32",
    "model.layers=1",
    "model.feed_forward.d_ff=48",
    "data.max_length=64",
    "training.batch_tokens=128",
    "training.minutes=",
    "training.steps=2",
    "training.threads=1",
    "training.validate.pairs=8",
    "training.checkpoint={every: 1, keep: 2, average: 2}",
)
ARCHITECTURE = (
    "model.attention={heads: 4, d_k: 8}",
    "model.vocab_size=",
    "tokenizer={kind: char, shared: true}",
)


def shrunk(name: str, folder: Path) -> Blueprint:
    """Load a bundled blueprint with small sizes and data that lies in `folder`.

    Those that are an architecture alone learn from characters.
    """
    original = load_blueprint(name)
    overrides = list(SIZES)
    if original.tokenizer is None or original.data is None:
        pairs = folder / "pairs.tsv"
        data = [f"data.{split}.path={pairs}" for split in ("train", "valid")]
        return load_blueprint(name, [*overrides, *data, *ARCHITECTURE])
    if original.tokenizer.source.kind == "bpe":
        overrides += ["tokenizer.vocab_size=40", "model.vocab_size=40"]
    if original.model.encoder.layers != original.model.decoder.layers:
        overrides += ["model.encoder.layers=2", "model.decoder.layers=1"]
    for split in ("train", "valid", "test"):
        match getattr(original.data, split):
            case None:
                continue
            case part if "path" in type(part).model_fields:
                overrides.append(f"data.{split}.path={folder / 'pairs.tsv'}")
            case part if "source" in type(part).model_fields:
                overrides.append(f"data.{split}.source={folder / 'pairs.source'}")
                overrides.append(f"data.{split}.target={folder / 'pairs.target'}")
    return load_blueprint(name, overrides)


@pytest.mark.parametrize("name", bundled_blueprints())
def test_trains_exports_and_runs(
    name: str, tmp_path: Path, write_pairs: Callable[[Path], None]
) -> None:
    write_pairs(tmp_path)
    blueprint = shrunk(name, tmp_path)

    folder = train(blueprint, tmp_path / "run")
    export = export_run(folder)

    run = Run.open(folder)
    lines = ["abc", "", "é", "cab bad", "x" * 40]
    ours = Package.load(export.path, threads=1).generate(lines)
    theirs = generate_lines(
        run.load_model(),
        (run.source_tokenizer, run.target_tokenizer),
        lines,
        strategy=blueprint.generation,
    )
    assert [line.text for line in ours] == [line.text for line in theirs]
    assert [line.length for line in ours] == [line.length for line in theirs]
    assert [line.score for line in ours] == pytest.approx([line.score for line in theirs], abs=1e-3)
    assert export.proof.equal == export.proof.lines
