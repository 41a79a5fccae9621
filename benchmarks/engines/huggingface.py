"""The engine of Hugging Face: transformers' own `generate`, or that of optimum on ONNX Runtime.

Runs under the Python of an environment that holds them.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from engines.server import serve, timed

sys.path.append(str(Path(__file__).parent.parent.parent))
from tests.parity.families import FAMILIES, sizes

PAD_ID, BOS_ID, EOS_ID = range(3)
NEVER = -1e9
MARIAN = next(family for family in FAMILIES if family.blueprint == "marian")


class Answers:
    """One network at a time, of the shape of Marian."""

    def __init__(self) -> None:
        self._loaded: tuple[Any, ...] = ()
        self._model: Any = None
        self._beams = 1

    def load(self, folder: str, beams: int, threads: int, *, optimum: bool = False) -> None:
        """Take the network of a run."""
        torch.set_num_threads(threads)
        self._beams = beams
        wanted = (folder, threads) if optimum else (folder,)
        if wanted != self._loaded:
            path = Path(folder)
            self._model = as_onnx(path, threads) if optimum else build(path)
            self._loaded = wanted

    def run(self, sources: list[list[int]], limit: int) -> dict[str, Any]:
        """Write the best output of each source, as long as `limit` at most."""
        seconds, targets = timed(lambda: self._generate(sources, limit))
        return {"targets": targets, **seconds}

    @torch.no_grad()
    def _generate(self, sources: list[list[int]], limit: int) -> list[list[int]]:
        longest = max(map(len, sources))
        ids = torch.tensor([[*each, *[PAD_ID] * (longest - len(each))] for each in sources])
        found = self._model.generate(
            input_ids=ids,
            attention_mask=(ids != PAD_ID).long(),
            max_new_tokens=limit,
            num_beams=self._beams,
            do_sample=False,
        )
        return [cut(row) for row in found[:, 1:].tolist()]  # without BOS


def cut(ids: list[int]) -> list[int]:
    """Leave out what follows EOS."""
    return ids[: ids.index(EOS_ID) + 1] if EOS_ID in ids else ids


def build(folder: Path) -> Any:
    """Build Marian with the weights of the run in `folder`; what it has beyond ours is 0."""
    from safetensors.torch import load_file
    from transformers import MarianConfig, MarianMTModel

    given = json.loads((folder / "peer.json").read_text(encoding="utf-8"))
    config = MarianConfig(
        **sizes(given["d_model"], given["layers"], given["heads"], given["d_ff"]),
        vocab_size=given["vocab_size"],
        decoder_vocab_size=given["vocab_size"],
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=PAD_ID,
        bos_token_id=BOS_ID,
        eos_token_id=EOS_ID,
        decoder_start_token_id=BOS_ID,
        forced_eos_token_id=None,
    )
    model = MarianMTModel(config).eval()
    tensors = load_file(folder / "weights.safetensors")
    with torch.no_grad():
        for name, weight in model.named_parameters():
            ours = tensors.get(MARIAN.name_here(name))
            if weight.requires_grad:
                weight.copy_(torch.zeros_like(weight) if ours is None else ours)
        for stack in (model.model.encoder, model.model.decoder):
            table = stack.embed_positions.weight
            table.copy_(interleaved(*table.shape))
        model.final_logits_bias.copy_(tensors["learned_bias"][None])
        model.final_logits_bias[:, [PAD_ID, BOS_ID]] = NEVER
    unused = tensors.keys() - {MARIAN.name_here(name) for name, _ in model.named_parameters()}
    if unused != {"learned_bias"}:
        raise RuntimeError(f"not told: {unused}")
    model.generation_config.forced_eos_token_id = None
    model.generation_config.bad_words_ids = None
    return model


def interleaved(rows: int, width: int) -> torch.Tensor:
    """The paper's sinusoids, where Marian has all sines before all cosines."""
    rates = 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = torch.arange(rows)[:, None].float() * rates.float()
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def as_onnx(folder: Path, threads: int) -> Any:
    """Export the network by optimum, once, and open what that writes."""
    from onnxruntime import SessionOptions
    from optimum.onnxruntime import ORTModelForSeq2SeqLM

    exported = folder / "optimum"
    if not exported.exists():
        with tempfile.TemporaryDirectory() as passing:
            build(folder).save_pretrained(passing)
            ORTModelForSeq2SeqLM.from_pretrained(passing, export=True).save_pretrained(exported)
    options = SessionOptions()
    options.intra_op_num_threads = threads
    return ORTModelForSeq2SeqLM.from_pretrained(exported, session_options=options)


if __name__ == "__main__":
    answers = Answers()
    serve({"load": answers.load, "run": answers.run})
