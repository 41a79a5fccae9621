"""The example for Node.js, beside what the runtime gives for the same file."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from builder.blueprint.load import parse_blueprint
from builder.export.export import export_run
from builder.runtime.package import Package
from builder.text.learn import Kind, learn_tokenizer
from builder.training.train import train

EXAMPLE = Path(__file__).parents[2] / "docs" / "node"
BLUEPRINT = """\
transom: 1
name: node
model:
  d_model: 32
  layers: 1
  attention: {heads: 2}
  feed_forward: {d_ff: 64}
  embeddings: {tie: target_output}
tokenizer: {source: {kind: char, lowercase: true}, target: char}
data: {train: {path: pairs.tsv}, valid: {path: pairs.tsv}, max_length: 32}
training: {steps: 60, batch_tokens: 256, threads: 1, schedule: {kind: noam, warmup: 20}}
generation: {kind: beam, beams: 2, target_prefix: true}
export: {options: inputs}
"""
LINES = ["abc a", "", "ÉCE\u0301  é", "d?b d", "ebbe", "a"]
ASKED = [
    {},
    {"max_length": 3},
    {"beams": 4, "n_best": 3},
    {"length_penalty": 2.5, "min_length": 7},
]
TEXTS = [
    *("the cat sat", "  The\tBAT\u3000sat  ", "E\u0301te\u0301 é", "ΣΑΣ İ", "日本 the", "a 😀 b"),
    *("on\ufeffmat", "ththth thecat", "<s> </s>", "x", "abab ababab"),
]


def node(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["node", *arguments], cwd=EXAMPLE, capture_output=True, encoding="utf-8", check=False
    )


@pytest.fixture(scope="module", autouse=True)
def _node_is_there() -> None:
    if shutil.which("node") is None:
        pytest.skip("Node.js is not installed")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of options as plain inputs; its own engine in Node is there."""
    if node("--input-type=module", "-e", "import 'onnxruntime-node'").returncode:
        pytest.skip("onnxruntime-node is not installed: run `npm install` in docs/node")
    folder = tmp_path_factory.mktemp("node")
    words = ["".join(letters) for letters in zip("abcdeab", "bcdeéba", "dabceaé", strict=True)]
    pairs = [f"{word} {other[0]}\t{other[::-1]} {word}" for word in words for other in words]
    (folder / "pairs.tsv").write_text("\n".join([*pairs, ""]), encoding="utf-8")
    blueprint = parse_blueprint(BLUEPRINT, "node.yaml", directory=folder)
    return export_run(train(blueprint, folder / "run")).path


@pytest.mark.slow
@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_outputs_are_those_of_the_runtime(file: Path, asked: dict[str, Any]) -> None:
    options = [part for name, value in asked.items() for part in ("--set", f"{name}={value}")]
    done = node("generate.mjs", file, *options, "--json", *LINES)

    assert done.returncode == 0, done.stderr
    package = Package.load(file)
    expected = package.generate_n_best(LINES, **asked)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [[(one["text"], len(one["ids"]), one["ended"]) for one in row] for row in found] == [
        [(one.text, one.length, one.ended) for one in row] for row in expected
    ]
    ids = package.generate_ids(package.metadata.source_tokenizer.encode(LINES), **asked)
    full = [row for row, line in enumerate(LINES) if line]
    assert [[one["ids"] for one in found[row]] for row in full] == [
        [one.ids for one in ids[row]] for row in full
    ]
    scores = [one["score"] for row in found for one in row]
    assert scores == pytest.approx([one.score for row in expected for one in row], rel=1e-4)
    if asked:
        assert expected != package.generate_n_best(LINES)


@pytest.mark.slow
def test_plain_output_is_a_line_for_each(file: Path) -> None:
    done = node("generate.mjs", file, "--set", "max_length=4", *LINES)

    expected = [one.text for one in Package.load(file).generate(LINES, max_length=4)]
    assert done.stdout.split("\n") == [*expected, ""]


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong", ["seed=1", "beams=1.5", "length_penalty=much", "n_best=9", "beams"]
)
def test_wrong_options_are_refused_in_a_line(file: Path, wrong: str) -> None:
    done = node("generate.mjs", file, "--set", wrong, *LINES)

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize(("kind", "size"), [("char", None), ("word", None), ("bpe", 30)])
def test_the_tokenizer_reads_and_writes_alike(
    kind: Kind, size: int | None, lowercase: bool, tmp_path: Path
) -> None:
    learned = ["the cat sat", "the bat sat on the mat", "é à σας aba abab"]
    tokenizer = learn_tokenizer(kind, learned, vocab_size=size, lowercase=lowercase)
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer.to_json(), encoding="utf-8")
    script = """
        import { readFileSync } from "node:fs";
        import { Tokenizer } from "./tokenizer.mjs";
        const [path, ...lines] = process.argv.slice(1);
        const tokenizer = new Tokenizer(readFileSync(path, "utf8"));
        const encoded = lines.map((line) => tokenizer.encode(line));
        const decoded = encoded.map((ids) => tokenizer.decode(ids));
        console.log(JSON.stringify([encoded, decoded]));
    """
    done = node("--input-type=module", "-e", script, path, *TEXTS)

    assert done.returncode == 0, done.stderr
    encoded = tokenizer.encode(TEXTS)
    assert json.loads(done.stdout) == [encoded, tokenizer.decode(encoded)]
