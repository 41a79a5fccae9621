from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from builder.blueprint.blueprint import Blueprint
from builder.errors import TokenizerError
from builder.training.agreement import needed
from builder.training.corpus import Corpus, describe, read_corpus

Load = Callable[..., Blueprint]


def read(blueprint: Blueprint, measured: int = 100) -> Corpus:
    tokenizer, data, _ = needed(blueprint)
    return read_corpus(data, tokenizer, measured=measured)


def test_reports_what_is_dropped_and_unknown(load: Load, tmp_path: Path) -> None:
    task = tmp_path / "task"
    (task / "train.tsv").write_text("ab\tba\n\tc\nabcdefabcdefabc\ta\nab\tabcabcabcabc\nabc\tb\n")
    (task / "valid.tsv").write_text("az\ta\n")

    report = read(load()).report

    assert report["train"]["pairs"] == 2
    assert sorted(report["train"]["dropped"].values()) == [1, 1, 1]
    assert report["train"]["tokens"] == {"source": 7, "target": 5}
    assert report["valid"]["unknown"]["source"] == pytest.approx(1 / 3)
    assert report["vocabulary"] == {"source": 10, "target": 10}


def test_the_text_of_validation_pairs_is_in_the_order_of_their_ids(
    load: Load, tmp_path: Path
) -> None:
    lines = [f"{word}\t{word}" for word in ("ab", "abcdeabcdeabcde", "cd", "edcba", "a")]
    (tmp_path / "task" / "valid.tsv").write_text("\n".join(lines))

    corpus = read(load())

    source, _ = corpus.tokenizers
    assert corpus.valid_pairs.sources == ["ab", "cd", "edcba", "a"]
    ids = [corpus.valid.source[index].tolist() for index in range(len(corpus.valid))]
    assert source.decode(ids) == corpus.valid_pairs.sources


def test_a_part_of_the_validation_pairs_is_always_the_same(load: Load) -> None:
    some, again, everything = read(load(), 7), read(load("training.seed=5"), 7), read(load())

    assert some.valid_pairs.sources == again.valid_pairs.sources
    assert len(set(some.valid_pairs.sources) & set(everything.valid_pairs.sources)) == 7
    assert some.valid_pairs.sources != everything.valid_pairs.sources[:7]


def test_digest_tells_corpora_apart(load: Load, tmp_path: Path) -> None:
    corpus, same = read(load()), read(load())
    swapped = replace(corpus, train=replace(corpus.train, source=corpus.train.target))
    fewer = read(load(), 7)

    assert same.digest == corpus.digest
    assert len({corpus.digest, swapped.digest, fewer.digest}) == 3


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(load: Load, tmp_path: Path) -> None:
    plain = read(load())
    for name in ("train.tsv", "valid.tsv"):
        path = tmp_path / "task" / name
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))

    other = read(load())

    assert other.digest == plain.digest
    assert other.tokenizers[0].to_json() == plain.tokenizers[0].to_json()
    assert other.valid_pairs.sources == plain.valid_pairs.sources


@pytest.mark.parametrize("vocab_size", [6, 5000])
@pytest.mark.parametrize(
    ("tokenizer", "key"),
    [
        ("{{kind: bpe, vocab_size: {0}}}", "tokenizer"),
        ("{{source: char, target: {{kind: bpe, vocab_size: {0}}}}}", "tokenizer.target"),
        ("{{source: {{kind: bpe, vocab_size: {0}}}, target: char}}", "tokenizer.source"),
    ],
)
def test_an_impossible_vocabulary_is_named_by_its_key(
    load: Load, tokenizer: str, key: str, vocab_size: int
) -> None:
    blueprint = load(f"tokenizer={tokenizer.format(vocab_size)}", "model.embeddings.tie=none")

    with pytest.raises(TokenizerError) as caught:
        read(blueprint)
    assert str(caught.value).startswith(f"{key}.vocab_size: found {vocab_size}: ")


def test_the_report_of_one_pair_is_in_the_singular() -> None:
    assert describe("valid", {"pairs": 1, "dropped": {}}) == "valid: 1 pair"
