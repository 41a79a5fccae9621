from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import builder.evaluate
from builder.data.pairs import Pairs
from builder.errors import BlueprintError, BuilderError, DataError
from builder.evaluate import LINES_AT_ONCE, evaluate
from builder.metrics import signatures
from builder.training.watch import Sample

WriteEcho = Callable[..., Path]

BLUEPRINT = """\
transom: 1
name: echo
model: {d_model: 16, layers: 1, attention: {heads: 2}, feed_forward: {d_ff: 16}}
tokenizer: char
"""
DATA = """\
data:
  train: {path: train.tsv}
  valid: {path: valid.tsv}
"""


def write_pairs(path: Path, pairs: list[tuple[str, str]]) -> None:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")


def write_sides(folder: Path, pairs: list[tuple[str, str]]) -> tuple[Path, Path]:
    """Two parallel files; the echo package is right where both sides are equal."""
    files = folder / "lines.source", folder / "lines.target"
    for file, side in zip(files, zip(*pairs, strict=True), strict=True):
        file.write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    return files


def test_scores_two_files(write_echo: WriteEcho, tmp_path: Path) -> None:
    files = write_sides(tmp_path, [("abc", "abc"), ("ab", "ba"), ("日本", "日本"), ("é", "é")])

    result = evaluate(write_echo(), files, samples=2)

    assert result.scores["exact_match"] == 75.0
    assert result.scores["sequence_error"] == 25.0
    assert (result.pairs, result.cut_off, result.dropped) == (4, 0, {})
    assert result.signatures == signatures()
    assert result.samples == [Sample("abc", "abc", "abc"), Sample("日本", "日本", "日本")]


@pytest.mark.parametrize(("samples", "shown"), [(0, 0), (3, 3), (7, 5)])
def test_shows_as_many_samples_as_are_asked_for(
    write_echo: WriteEcho, tmp_path: Path, samples: int, shown: int
) -> None:
    files = write_sides(tmp_path, [("a", "a")] * 5)

    assert len(evaluate(write_echo(), files, samples=samples).samples) == shown


def test_tells_how_far_it_is(write_echo: WriteEcho, tmp_path: Path) -> None:
    files = write_sides(tmp_path, [("a", "a")] * (LINES_AT_ONCE + 5))
    told: list[tuple[int, int]] = []

    result = evaluate(write_echo(), files, progress=lambda done, every: told.append((done, every)))

    every = LINES_AT_ONCE + 5
    assert result.scores["exact_match"] == 100.0
    assert told == [(0, every), (LINES_AT_ONCE, every), (every, every)]


def test_a_package_is_scored_on_the_pairs_of_the_run_it_lies_in(
    write_echo: WriteEcho, tmp_path: Path
) -> None:
    package = write_echo()
    (tmp_path / "blueprint.yaml").write_text(BLUEPRINT + DATA, encoding="utf-8")
    write_pairs(tmp_path / "valid.tsv", [("a", "a"), ("b", "c")])
    write_pairs(tmp_path / "test.tsv", [("a", "a")])

    assert evaluate(package).scores["exact_match"] == 50.0

    (tmp_path / "blueprint.yaml").write_text(BLUEPRINT + DATA + "  test: {path: test.tsv}\n")
    assert evaluate(package).scores["exact_match"] == 100.0


def test_names_the_key_of_a_missing_file(
    write_echo: WriteEcho, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = write_echo()
    (tmp_path / "blueprint.yaml").write_text(BLUEPRINT + DATA, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path / "elsewhere.tsv", [("a", "a")])

    with pytest.raises(DataError, match=r"data\.valid\.path.*valid\.tsv"):
        evaluate(package)
    assert evaluate(package, overrides=["data.valid.path=elsewhere.tsv"]).pairs == 1


@pytest.mark.parametrize(
    "override",
    ["export.opset=20", "training.steps=5", "model={d_model: 8}", "nonsense", "dat.x=1"],
)
def test_only_the_place_of_the_pairs_and_the_search_can_be_set(
    write_echo: WriteEcho, tmp_path: Path, override: str
) -> None:
    package = write_echo()
    (tmp_path / "blueprint.yaml").write_text(BLUEPRINT + DATA, encoding="utf-8")
    write_pairs(tmp_path / "valid.tsv", [("a", "a")])

    with pytest.raises(BlueprintError, match=rf"--set {override}.*`data\.\*`"):
        evaluate(package, overrides=[override])
    with pytest.raises(BlueprintError, match="did you mean"):
        evaluate(package, overrides=["data.tets.path=x"])


def test_overrides_beside_two_files_are_refused(write_echo: WriteEcho, tmp_path: Path) -> None:
    files = write_sides(tmp_path, [("a", "a")])

    with pytest.raises(DataError, match="--set"):
        evaluate(write_echo(), files, overrides=["data.test.path=x.tsv"])


def test_pairs_left_out_are_counted_and_numbers_are_those_of_pairs(
    write_echo: WriteEcho, tmp_path: Path
) -> None:
    pairs = [("a", "a"), ("", "b"), (" ", ""), ("a", ""), ("b", ""), ("b", "b")]

    result = evaluate(write_echo(), write_sides(tmp_path, pairs))
    assert result.pairs == 2
    assert result.dropped == {"blank source": 1, "blank both": 1, "blank target": 2}

    files = write_sides(tmp_path, [*pairs, ("a" * 9, "a")])
    with pytest.raises(DataError, match=r"^pair 3: 10 tokens"):
        evaluate(write_echo(source_limit=9), files)


def test_notes_of_a_built_in_set_are_kept(
    write_echo: WriteEcho, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = write_echo()
    (tmp_path / "blueprint.yaml").write_text(BLUEPRINT + DATA, encoding="utf-8")
    noted = Pairs(["a"], ["a"], {"ambiguous": 7}, origin="dates, test", note="18 locales")
    monkeypatch.setattr(builder.evaluate, "read_pairs", lambda _data, _part: noted)

    result = evaluate(package)

    assert (result.dropped, result.note) == ({"ambiguous": 7}, "18 locales")


def test_refuses_where_there_are_no_pairs(write_echo: WriteEcho, tmp_path: Path) -> None:
    package = write_echo()
    with pytest.raises(DataError, match="--source"):
        evaluate(package)

    (tmp_path / "blueprint.yaml").write_text(BLUEPRINT, encoding="utf-8")
    with pytest.raises(DataError, match="--source"):
        evaluate(package)

    with pytest.raises(DataError, match="no pairs"):
        evaluate(package, write_sides(tmp_path, [(" ", "a")]))


def test_refuses_a_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(BuilderError, match=str(tmp_path)):
        evaluate(tmp_path)
