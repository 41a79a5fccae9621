from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from builder.blueprint.load import load_blueprint
from builder.compile import compile_model
from builder.errors import BlueprintError, DataError, PackageError, RunError
from builder.text.learn import learn_tokenizer
from builder.weights import save_weights, weights_of
from builder.writer import open_writer

WriteEcho = Callable[..., Path]

BLUEPRINT = """\
transom: 1
name: small
model:
  d_model: 16
  layers: 1
  vocab_size: {size}
  attention: {{heads: 2}}
  feed_forward: {{d_ff: 16}}
  positions: {{kind: learned, max_length: 8}}
generation: {{kind: greedy, max_length: {{ratio: 1, plus: 2}}}}
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of random weights that read at most 8 tokens."""
    tokenizer = learn_tokenizer("char", ["abcdef"], vocab_size=None, lowercase=False)
    (tmp_path / "tokenizer.json").write_text(tokenizer.to_json(), encoding="utf-8")
    path = tmp_path / "blueprint.yaml"
    path.write_text(BLUEPRINT.format(size=tokenizer.vocab_size), encoding="utf-8")
    torch.manual_seed(1)
    model = compile_model(load_blueprint(path).model)
    save_weights(weights_of(model), tmp_path / "weights.safetensors")
    return tmp_path


def test_a_package_and_a_run_are_called_alike(write_echo: WriteEcho, run: Path) -> None:
    for path in (write_echo(source_limit=8), run):
        generate = open_writer(path)

        first, empty, last = generate(["abc", "", "def"])
        assert (empty.text, empty.length, empty.ended) == ("", 0, True)
        assert generate(["abc"])[0].text == first.text
        assert generate(["def"])[0].text == last.text
        assert [one.length for one in open_writer(path, max_length=1)(["abcdef"])] == [1]


def test_both_name_the_line_that_is_too_long(write_echo: WriteEcho, run: Path) -> None:
    said = set()
    for path in (write_echo(source_limit=8), run):
        generate = open_writer(path)

        assert len(generate(["a" * 7])) == 1
        for noun in ("line", "pair"):
            with pytest.raises(DataError, match=f"{noun} 12:") as caught:
                generate(["a", "a" * 8], first_line=11, noun=noun)
            said.add(str(caught.value))
        with pytest.raises(DataError, match="line 2:") as caught:
            generate(["a", "\udcff"])
        said.add(str(caught.value))
    assert len(said) == 3


def test_what_is_neither_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=str(tmp_path)):
        open_writer(tmp_path)
    with pytest.raises(PackageError, match=str(tmp_path)):
        open_writer(tmp_path / "missing")


def test_a_file_can_be_asked_for_what_its_options_cover(write_choir: WriteEcho) -> None:
    path = write_choir()
    asked = ["generation.beams=6", "generation.n_best=2", "generation.length_penalty=1"]
    writer = open_writer(path, overrides=asked, max_length=3)

    assert writer(["abc"])[0].score == pytest.approx(-3 - 100 - 5000)
    assert (writer.count, writer.seed) == (2, None)
    (first, second), (empty, none) = writer.n_best(["abc", ""])
    assert (first.text, second.text) == ("abc", "ab")
    assert (empty.text, empty.length, none.text, none.length) == ("", 0, "", 0)
    whole = open_writer(path, overrides=["generation={kind: beam, target_prefix: true, beams: 6}"])
    assert whole(["abc"])[0].score == pytest.approx(-4 - 60 - 5000)


def test_an_option_can_be_asked_for_nothing(write_choir: WriteEcho) -> None:
    """A greedy file has this option only where it asks for something."""
    blueprint = "transom: 1\nname: x\nmodel: {}\ngeneration: {kind: greedy, min_length: 3}\n"
    options = json.dumps({"max_length": 9, "min_length": 3})
    path = write_choir({"transom.blueprint": blueprint, "transom.options": options})

    ended = open_writer(path, overrides=["generation.min_length=1"])(["abc"])[0]
    assert ended.score == open_writer(path)(["abc"])[0].score + 20_000


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("generation.kind=greedy", "generation.kind"),
        ("generation={kind: sampling, seed: 5}", "generation.kind"),
        ("generation.max_length.plus=9", "generation.max_length"),
        ("generation.no_repeat_ngram_size=2", "generation.no_repeat_ngram_size"),
        ("generation.target_prefix=false", "generation.target_prefix"),
    ],
)
def test_what_is_fixed_in_a_file_is_refused(
    write_choir: WriteEcho, override: str, key: str
) -> None:
    path = write_choir()

    with pytest.raises(BlueprintError) as caught:
        open_writer(path, overrides=["generation.min_length=2", override])

    (problem,) = caught.value.problems
    assert (problem.path, problem.file) == (key, f"--set {override}")
    assert str(path) in problem.message
    assert "export" in problem.message


@pytest.mark.parametrize(
    "overrides",
    [
        ["generation.beams=0"],
        ["generation.beams=x"],
        ["generation.beam=6"],
        ["generation.n_best=5"],
        ["generation.seed=5"],
        ["model.d_model=6"],
        ["training.seed=6"],
        ["beams=6"],
    ],
)
def test_wrong_overrides_name_their_flag(
    write_choir: WriteEcho, run: Path, overrides: list[str]
) -> None:
    (run / "blueprint.yaml").write_text(
        (run / "blueprint.yaml").read_text().replace("kind: greedy", "kind: beam")
    )
    for path in (write_choir(), run):
        with pytest.raises(BlueprintError, match=f"--set {overrides[0]}"):
            open_writer(path, overrides=overrides)


def test_more_best_than_beams_tells_both_numbers(write_choir: WriteEcho) -> None:
    asked = ["generation.n_best=10", "generation.beams=5"]

    with pytest.raises(BlueprintError, match=r"n_best=10.*beams=5"):
        open_writer(write_choir(), overrides=asked)


def test_the_blueprint_in_a_file_opens_nothing(write_choir: WriteEcho, tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("transom: 1\nmodel: {}\n")
    for text in (f"transom: 1\nextends: {tmp_path}/base.yaml\n", "transom: 1\nmodel: 3\n", "{"):
        path = write_choir({"transom.blueprint": text})
        with pytest.raises(PackageError, match=r"choir\.onnx: damaged"):
            open_writer(path, overrides=["generation.beams=6"])


def test_a_run_can_search_in_another_way(run: Path) -> None:
    beams = ["generation={kind: beam, beams: 3, n_best: 3}"]
    draws = ["generation={kind: sampling, seed: 5, n_best: 2}"]

    several = open_writer(run, overrides=beams)
    assert several.count == 3
    (row,) = several.n_best(["abc"])
    assert len({one.text for one in row}) > 1
    assert [one.score for one in row] == sorted((one.score for one in row), reverse=True)
    drawn = open_writer(run, overrides=draws)
    assert (drawn.seed, drawn.count) == (5, 2)
    assert drawn.n_best(["abc"]) == open_writer(run, overrides=draws).n_best(["abc"])


def test_both_begin_as_told_and_refuse_alike(write_choir: WriteEcho, run: Path) -> None:
    said = set()
    for path in (write_choir(), run):
        (one,) = open_writer(path, prefix="fa")(["ab"])
        assert one.text.startswith("fa")
        first, second = open_writer(path, prefix=["fa", "b"])(["ab", "ab"])
        assert (first.text[:2], second.text[:1]) == ("fa", "b")
        for prefix in ("z", "abcde", ["a"]):
            with pytest.raises(DataError) as caught:
                open_writer(path, prefix=prefix)(["ab", "ab"])
            said.add(str(caught.value))
        with pytest.raises(DataError, match=r"line 1: .*\b3\b.*\b2\b"):
            open_writer(path, prefix="abc", max_length=2)(["abcdef"])
    assert len(said) == 3


def test_a_file_without_beginnings_refuses_before_it_reads(write_echo: WriteEcho) -> None:
    with pytest.raises(PackageError, match="target_prefix"):
        open_writer(write_echo(), prefix="a")


def test_both_score_pairs(write_choir: WriteEcho, run: Path) -> None:
    for path in (write_choir(), run):
        certain, likely = open_writer(path).score([("", ""), ("ab", "cd")])
        assert (certain.log_prob, certain.length) == (0, 0)
        assert likely.log_prob < 0
        assert likely.length == 3
