"""What fewer bits cost: one trained network, in ONNX and in CTranslate2, scored on its test set."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import onnx_ir as ir
import torch

from builder.blueprint.load import load_blueprint
from builder.data.pairs import Pairs
from builder.dataset import read_pairs
from builder.export.gate import agreement
from builder.export.precision import Form, reduce
from builder.generate import length_rule, pad
from builder.metrics import score
from builder.run import BLUEPRINT, Run
from builder.runtime.session import open_session
from builder.search.limits import NO_LIMIT
from builder.text.batches import by_length
from frame import ROOT, data_folder, finish, print_table, transom
from katakana import DATA_SET, train
from peers_ctranslate2 import PACKAGE, Translator, convert

BATCH_TOKENS = 4096
FORMS: tuple[Form, ...] = ("float16", "uint8", "int7")
QUANTIZATIONS = ("float32", "int8")

Ids = list[list[int]]
Write = Callable[[Ids], Ids]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, help="train for another time than the blueprint's")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the run in a new folder")
    parser.add_argument("--run", type=Path, metavar="DIR", help="take this run, train none")
    parser.add_argument("--venv", type=Path, metavar="DIR", help="keep CTranslate2 in this folder")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    data = data_folder(DATA_SET).parent
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = environment((options.venv or folder / "peers").absolute())
        run = (options.run or options.keep or folder / "run").absolute()
        if not options.run:
            train(data, run, options.minutes)
        measure(run, folder, python, options.threads)


def environment(folder: Path) -> Path:
    """The Python of an environment that holds CTranslate2; made where it is not there."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", PACKAGE], check=True)
    return python


def measure(run_folder: Path, folder: Path, python: Path, threads: int) -> None:
    """Write the test set with every engine in every precision."""
    run, pairs = Run.open(run_folder), test_pairs(run_folder)
    sources = run.source_tokenizer.encode(pairs.sources)
    rows: dict[str, dict[str, Any]] = {}
    exact: Ids = []

    def add(engine: str, precision: str, outputs: Ids, size_bytes: int) -> None:
        alike = agreement(outputs, exact or outputs)
        rows[f"{engine} {precision}"] = scores(run, pairs, outputs) | {
            "token_agreement": round(100 * alike, 2),
            "bytes": size_bytes,
        }

    package = folder / "float32.onnx"
    transom("export", run_folder, "--out", package, cwd=ROOT)
    file = package.read_bytes()
    exact = write_onnx(file, sources, threads)
    add("transom", "float32", exact, len(file))
    for form in FORMS:
        graph = ir.load(package)
        reduce(graph, form)
        file = ir.to_proto(graph).SerializeToString()
        add("transom", form, write_onnx(file, sources, threads), len(file))
    for quantization in QUANTIZATIONS:
        place = folder / quantization
        convert(run.load_model(), place, python=python, quantization=quantization)
        outputs = write_ctranslate2(run, sources, place, python=python, threads=threads)
        add("ctranslate2", quantization, outputs, (place / "model.bin").stat().st_size)
    report(rows, len(pairs))


def test_pairs(run_folder: Path) -> Pairs:
    """The pairs that the run's blueprint keeps for testing."""
    data = load_blueprint(run_folder / BLUEPRINT).data
    if data is None:
        raise RuntimeError("the run has no data")
    return read_pairs(data, "test")


def write_onnx(file: bytes, sources: Ids, threads: int) -> Ids:
    """The best target of every source, by an exported file."""
    engine = open_session(file, threads=threads)

    def write(batch: Ids) -> Ids:
        ids, _, lengths, _ = engine.run(None, {"source_ids": pad(batch).numpy()})
        return [row[:n] for row, n in zip(ids[:, 0].tolist(), lengths[:, 0].tolist(), strict=True)]

    return in_batches(write, sources)


def write_ctranslate2(run: Run, sources: Ids, folder: Path, *, python: Path, threads: int) -> Ids:
    """The same by CTranslate2, each cut off where our limit for its source lies."""
    rule = length_rule(run.blueprint.generation, run.load_model())
    translator = Translator(python, folder, compute_type="default", threads=threads)

    def write(batch: Ids) -> Ids:
        lengths = torch.tensor([len(ids) for ids in batch])
        limits = rule.limits(lengths, torch.tensor(NO_LIMIT)).tolist()
        targets, _ = translator.translate(batch, max_decoding_length=max(limits))
        return [ids[:limit] for ids, limit in zip(targets, limits, strict=True)]

    try:
        return in_batches(write, sources)
    finally:
        translator.close()


def in_batches(write: Write, sources: Ids) -> Ids:
    """Write sources in groups of like length, the same ones for every engine."""
    outputs: Ids = [[]] * len(sources)
    for group in by_length([len(ids) for ids in sources], batch_tokens=BATCH_TOKENS):
        for index, ids in zip(group, write([sources[i] for i in group]), strict=True):
            outputs[index] = ids
    return outputs


def scores(run: Run, pairs: Pairs, outputs: Sequence[Sequence[int]]) -> dict[str, float]:
    """How good the outputs are, in percent."""
    texts = run.target_tokenizer.decode(outputs)
    found = score(texts, pairs.targets, text_metrics=False)
    return {name: round(found[name], 2) for name in ("exact_match", "char_error")}


def report(rows: dict[str, dict[str, Any]], pairs: int) -> None:
    names = list(next(iter(rows.values())))
    table = [[row, *map(str, figures.values())] for row, figures in rows.items()]
    print_table(["engine and precision", *names], table)
    finish({"rows": rows, "test_pairs": pairs})


if __name__ == "__main__":
    main()
