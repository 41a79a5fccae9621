from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from builder.blueprint.load import load_blueprint
from builder.compile import compile_model
from builder.errors import DataError, PackageError, RunError
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
