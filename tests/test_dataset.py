from __future__ import annotations

from pathlib import Path

import pytest

from builder.blueprint.load import load_blueprint
from builder.dataset import read_pairs
from builder.errors import DataError

HEAD = """\
transom: 1
model: {d_model: 16, layers: 1, attention: {heads: 2}, feed_forward: {d_ff: 16}}
tokenizer: char
"""


def write(folder: Path, data: str) -> Path:
    path = folder / "some.yaml"
    path.write_text(f"{HEAD}data: {data}\n", encoding="utf-8")
    return path


def test_each_form_of_a_source(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("a\nb\n")
    (tmp_path / "t.txt").write_text("c\nd\n")
    (tmp_path / "t.tsv").write_text("word\tmore\tphones\ne\t-\tf\n")
    path = write(
        tmp_path,
        "{train: {source: s.txt, target: t.txt},"
        " valid: {path: t.tsv, columns: {source: word, target: phones}},"
        " test: {path: t.tsv, columns: {source: 3, target: 2}}}",
    )
    data = load_blueprint(path).data
    assert data is not None

    train, valid, test = (read_pairs(data, part) for part in ("train", "valid", "test"))

    assert (train.sources, train.targets) == (["a", "b"], ["c", "d"])
    assert (valid.sources, valid.targets) == (["e"], ["f"])
    assert (test.sources, test.targets) == (["phones", "f"], ["more", "-"])


def test_names_the_key_and_the_absolute_path_of_a_missing_file(tmp_path: Path) -> None:
    path = write(tmp_path, "{train: {source: s.txt, target: t.txt}, valid: {path: v.tsv}}")
    (tmp_path / "s.txt").write_text("a\n")
    data = load_blueprint(path).data
    assert data is not None

    with pytest.raises(DataError, match=rf"data\.train\.target: .*{tmp_path}/t\.txt"):
        read_pairs(data, "train")
    with pytest.raises(DataError, match=rf"data\.valid\.path: .*{tmp_path}/v\.tsv"):
        read_pairs(data, "valid")
    with pytest.raises(DataError, match=r"data\.test"):
        read_pairs(data, "test")
