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


@pytest.mark.parametrize(
    ("data", "key", "file"),
    [
        ("{train: {source: s.txt, target: bad}, valid: {path: v}}", "data.train.target", "bad:2"),
        ("{train: {source: bad, target: t.txt}, valid: {path: v}}", "data.train.source", "bad:2"),
        ("{train: {source: s.txt, target: t.txt}, valid: {path: v}}", "data.train", "t.txt"),
        ("{train: {path: bad}, valid: {path: v}}", "data.train.path", "bad:2"),
        ("{train: {path: s.txt}, valid: {path: v}}", "data.train.columns", "s.txt:1"),
        (
            "{train: {path: s.txt, columns: {source: en, target: de}}, valid: {path: v}}",
            "data.train.columns",
            "s.txt:1",
        ),
        ("{train: {path: .}, valid: {path: v}}", "data.train.path", ""),
    ],
)
def test_a_wrong_file_is_named_with_the_key_that_names_it(
    tmp_path: Path, data: str, key: str, file: str
) -> None:
    (tmp_path / "s.txt").write_text("a\nb\n")
    (tmp_path / "t.txt").write_text("c\n")
    (tmp_path / "bad").write_bytes(b"a\n\xff\n")
    section = load_blueprint(write(tmp_path, data)).data
    assert section is not None

    with pytest.raises(DataError) as caught:
        read_pairs(section, "train")
    assert str(caught.value).startswith(f"{key}: ")
    assert str(tmp_path / file) in str(caught.value)
