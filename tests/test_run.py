"""A run folder whose files do not belong together, or are gone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.blueprint.load import parse_blueprint
from builder.blueprint.write import dump_blueprint
from builder.compile import compile_model
from builder.errors import RunError
from builder.evaluate import evaluate
from builder.export.export import export_run
from builder.run import Run, settled
from builder.text.learn import learn_tokenizer
from builder.weights import save_weights, weights_of
from builder.writer import open_writer

SHARED, SOURCE, TARGET = "tokenizer.json", "tokenizer.source.json", "tokenizer.target.json"
LETTERS = {SHARED: "abc", SOURCE: "abc", TARGET: "defgh"}
CONTROLS = 4
"""Rows of every vocabulary beside its letters."""


def blueprint(source: int, target: int) -> Blueprint:
    return parse_blueprint(
        f"""
        transom: 1
        name: letters
        model:
          d_model: 8
          layers: 1
          attention: {{heads: 2}}
          feed_forward: {{d_ff: 8}}
          embeddings: {{tie: target_output}}
          vocab_size: {{source: {source}, target: {target}}}
        """,
        "letters.yaml",
    )


def write_tokenizer(path: Path, letters: str) -> None:
    tokenizer = learn_tokenizer("char", [letters], vocab_size=None, lowercase=False)
    path.write_text(tokenizer.to_json(), encoding="utf-8")


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """Give a function that writes a run whose tokenizers are the files `names`."""

    def make(*names: str) -> Path:
        folder = tmp_path / "run"
        folder.mkdir()
        sizes = [len(LETTERS[name]) + CONTROLS for name in (names[0], names[-1])]
        made = blueprint(*sizes)
        (folder / "blueprint.yaml").write_text(dump_blueprint(made), encoding="utf-8")
        for name in names:
            write_tokenizer(folder / name, LETTERS[name])
        save_weights(weights_of(compile_model(made.model)), folder / "weights.safetensors")
        (folder / "proof.jsonl").write_text('{"source": "ab", "target": "ab"}\n')
        return folder

    return make


def refusals(folder: Path) -> list[str]:
    """What export, run and evaluate say to `folder`."""
    lines = folder.parent / "lines.txt"
    lines.write_text("ab\n")
    told = []
    for use in (
        lambda: export_run(folder),
        lambda: open_writer(folder),
        lambda: evaluate(folder, (lines, lines)),
    ):
        with pytest.raises(RunError) as caught:
            use()
        told.append(str(caught.value))
    assert not list(folder.glob("*.onnx"))
    return told


@pytest.mark.parametrize(
    ("names", "other", "counts"),
    [
        ((SHARED,), SHARED, (9, 7)),
        ((SOURCE, TARGET), SOURCE, (9, 7)),
        ((SOURCE, TARGET), TARGET, (6, 9)),
    ],
)
def test_a_tokenizer_of_another_size_is_refused_with_both_files_and_counts(
    make_run: Callable[..., Path], names: tuple[str, ...], other: str, counts: tuple[int, int]
) -> None:
    folder = make_run(*names)
    Run.open(folder).load_model()
    write_tokenizer(folder / other, "abcdefgh"[: counts[0] - CONTROLS])

    for told in refusals(folder):
        assert told.startswith(f"{folder / other}: {counts[0]} rows")
        assert f"{counts[1]} for the " in told
        assert str(folder / "weights.safetensors") in told


@pytest.mark.parametrize(
    ("names", "gone", "named", "expected"),
    [
        ((SHARED,), [SHARED], SHARED, (SHARED, SOURCE, TARGET)),
        ((SOURCE, TARGET), [SOURCE, TARGET], SHARED, (SHARED, SOURCE, TARGET)),
        ((SOURCE, TARGET), [SOURCE], SOURCE, (SOURCE, TARGET)),
        ((SOURCE, TARGET), [TARGET], TARGET, (SOURCE, TARGET)),
    ],
)
def test_a_missing_tokenizer_is_told_with_what_a_run_holds(
    make_run: Callable[..., Path],
    names: tuple[str, ...],
    gone: list[str],
    named: str,
    expected: tuple[str, ...],
) -> None:
    folder = make_run(*names)
    for name in gone:
        (folder / name).unlink()

    for told in refusals(folder):
        place, _, rest = told.partition(": missing: ")
        assert place == str(folder / named)
        assert [name for name in LETTERS if f"`{name}`" in rest] == list(expected)


def test_a_tokenizer_that_cannot_be_read_is_no_failure_of_the_machine(
    make_run: Callable[..., Path],
) -> None:
    folder = make_run(SHARED)
    (folder / SHARED).unlink()
    (folder / SHARED).mkdir()

    for told in refusals(folder):
        assert told.startswith(f"{folder / SHARED}: ")


def test_a_path_that_leads_back_is_settled(tmp_path: Path) -> None:
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "away")

    assert settled(tmp_path / "new" / ".." / "x") == (tmp_path / "x").resolve()
    assert settled(tmp_path / "link" / ".." / "x") == (tmp_path / "far" / "x").resolve()
    assert settled(Path("plain/x")) == Path("plain/x")
