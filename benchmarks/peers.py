"""The tools that `peer_errors` compares: how each is installed, what it reads, how it is run."""

from __future__ import annotations

from dataclasses import dataclass

TORCH = "torch==2.13.0"


@dataclass(frozen=True)
class Tool:
    """A toolkit with a configuration file that is right, for a network of 16 values."""

    name: str
    packages: tuple[str, ...]
    """Installed as they are; what they need stands in `needs`."""
    needs: tuple[str, ...]
    file: str
    text: str
    command: tuple[str, ...]
    """What reads the file and builds the network; its first word is a program beside Python."""


OURS = Tool(
    name="Transom",
    packages=(),
    needs=(),
    file="blueprint.yaml",
    command=("transom", "check", "./blueprint.yaml"),
    text="""\
transom: 1
model:
  d_model: 16
  layers: 1
  attention: {heads: 4}
  feed_forward: {d_ff: 32, activation: relu}
  dropout: 0.1
tokenizer: word
data:
  train: {source: train.en, target: train.de}
  valid: {source: dev.en, target: dev.de}
training: {steps: 2}
""",
)

JOEYNMT = Tool(
    name="JoeyNMT",
    packages=("joeynmt==2.3.0",),
    needs=(
        *("datasets", "importlib_metadata", "matplotlib", "numpy", "packaging", "pandas", "pyyaml"),
        *("sacrebleu", "sacremoses", "seaborn", "sentencepiece", "subword-nmt", "tensorboard"),
    ),
    file="joey.yaml",
    command=("python", "-m", "joeynmt", "train", "joey.yaml", "--skip-test"),
    text="""\
name: small
joeynmt_version: "2.3.0"
model_dir: run
use_cuda: False
data:
  train: train
  dev: dev
  dataset_type: plain
  src: {lang: en, level: word, voc_limit: 100, voc_min_freq: 1}
  trg: {lang: de, level: word, voc_limit: 100, voc_min_freq: 1}
training:
  optimizer: adam
  scheduling: noam
  learning_rate_warmup: 10
  batch_size: 8
  batch_type: sentence
  updates: 2
  overwrite: True
testing: {beam_size: 1, eval_metrics: [bleu]}
model:
  encoder:
    type: transformer
    num_layers: 1
    num_heads: 4
    hidden_size: 16
    embeddings: {embedding_dim: 16}
    ff_size: 32
    activation: relu
    dropout: 0.1
  decoder:
    type: transformer
    num_layers: 1
    num_heads: 4
    hidden_size: 16
    embeddings: {embedding_dim: 16}
    ff_size: 32
    activation: relu
    dropout: 0.1
""",
)

EOLE = Tool(
    name="Eole",
    packages=("eole==0.6.4",),
    needs=(
        *("aiohttp", "configargparse", "ctranslate2", "datasets", "fastapi", "huggingface_hub"),
        *("numpy", "pandas", "pyahocorasick", "pydantic", "pyonmttok", "pyyaml", "rapidfuzz"),
        *("rich", "sacrebleu", "safetensors", "sentencepiece", "six", "spacy", "subword-nmt"),
        *("tensorboard", "tokenizers", "torch-optimi", "uvicorn", "waitress"),
    ),
    file="eole.yaml",
    command=("eole", "train", "-config", "eole.yaml"),
    text="""\
src_vocab: vocabulary.en
tgt_vocab: vocabulary.de
overwrite: true
data:
  corpus_1:
    path_src: train.en
    path_tgt: train.de
  valid:
    path_src: dev.en
    path_tgt: dev.de
training:
  model_path: model
  batch_size: 8
  batch_type: sents
  train_steps: 2
  save_checkpoint_steps: 100
  optim: adam
  learning_rate: 0.001
  world_size: 0
  gpu_ranks: []
  compute_dtype: fp32
  dropout: [0.1]
model:
  architecture: transformer
  layers: 1
  heads: 4
  hidden_size: 16
  transformer_ff: 32
  mlp_activation_fn: relu
  embeddings: {word_vec_size: 16, position_encoding_type: SinusoidalInterleaved}
""",
)

BUILD = """
from transformers import AutoConfig, AutoModelForSeq2SeqLM
AutoModelForSeq2SeqLM.from_config(AutoConfig.from_pretrained("."))
"""

TRANSFORMERS = Tool(
    name="transformers",
    packages=("transformers==5.24.0",),
    needs=(
        *("huggingface_hub", "numpy", "packaging", "pyyaml", "regex", "safetensors"),
        *("tokenizers", "tqdm", "typer"),
    ),
    file="config.json",
    command=("python", "-c", BUILD),
    text="""\
{
  "model_type": "marian",
  "vocab_size": 100,
  "d_model": 16,
  "encoder_layers": 1,
  "decoder_layers": 1,
  "encoder_attention_heads": 4,
  "decoder_attention_heads": 4,
  "encoder_ffn_dim": 32,
  "decoder_ffn_dim": 32,
  "dropout": 0.1,
  "activation_function": "relu",
  "pad_token_id": 0,
  "decoder_start_token_id": 0,
  "eos_token_id": 2
}
""",
)

PEERS = (JOEYNMT, EOLE, TRANSFORMERS)

FILES = {
    **{f"{split}.en": "a b c\n" * 20 for split in ("train", "dev")},
    **{f"{split}.de": "x y z\n" * 20 for split in ("train", "dev")},
    "vocabulary.en": "a\t9\nb\t9\nc\t9\n",
    "vocabulary.de": "x\t9\ny\t9\nz\t9\n",
}
"""Twenty pairs, for the tools that read their data before they look at the network."""

Edit = tuple[str, str]

MISTAKES: dict[str, dict[str, Edit]] = {
    "A misspelt key": {
        "Transom": ("dropout: 0.1", "droput: 0.1"),
        "JoeyNMT": ("dropout: 0.1", "droput: 0.1"),
        "Eole": ("dropout: [0.1]", "droput: [0.1]"),
        "transformers": ('"dropout": 0.1', '"droput": 0.1'),
    },
    "A right key in the wrong section": {
        "Transom": ("  attention: {heads: 4}", "  heads: 4"),
        "JoeyNMT": ("model:\n", "model:\n  num_heads: 4\n"),
        "Eole": ("training:\n", "training:\n  heads: 4\n"),
    },
    "A name of another toolkit": {
        "Transom": ("  layers: 1", "  num_layers: 1"),
        "JoeyNMT": ("num_layers: 1", "n_layers: 1"),
        "Eole": ("  layers: 1", "  num_layers: 1"),
        "transformers": ('"encoder_layers"', '"num_encoder_layers"'),
    },
    "A word for a number": {
        "Transom": ("layers: 1", "layers: two"),
        "JoeyNMT": ("num_layers: 1", "num_layers: two"),
        "Eole": ("  layers: 1", "  layers: two"),
        "transformers": ('"encoder_layers": 1', '"encoder_layers": "two"'),
    },
    "One layer and a half": {
        "Transom": ("layers: 1", "layers: 1.5"),
        "JoeyNMT": ("num_layers: 1", "num_layers: 1.5"),
        "Eole": ("  layers: 1", "  layers: 1.5"),
        "transformers": ('"encoder_layers": 1', '"encoder_layers": 1.5'),
    },
    "Three heads for 16 values": {
        "Transom": ("heads: 4", "heads: 3"),
        "JoeyNMT": ("num_heads: 4", "num_heads: 3"),
        "Eole": ("heads: 4", "heads: 3"),
        "transformers": ('"encoder_attention_heads": 4', '"encoder_attention_heads": 3'),
    },
    "A dropout above 1": {
        "Transom": ("dropout: 0.1", "dropout: 1.5"),
        "JoeyNMT": ("dropout: 0.1", "dropout: 1.5"),
        "Eole": ("dropout: [0.1]", "dropout: [1.5]"),
        "transformers": ('"dropout": 0.1', '"dropout": 1.5'),
    },
    "An activation that does not exist": {
        "Transom": ("activation: relu", "activation: rellu"),
        "JoeyNMT": ("activation: relu", "activation: rellu"),
        "Eole": ("mlp_activation_fn: relu", "mlp_activation_fn: rellu"),
        "transformers": ('"relu"', '"rellu"'),
    },
    "A key written twice": {
        "Transom": ("  layers: 1", "  layers: 1\n  layers: 6"),
        "JoeyNMT": ("    num_layers: 1", "    num_layers: 1\n    num_layers: 6"),
        "Eole": ("  layers: 1", "  layers: 1\n  layers: 6"),
        "transformers": ('  "encoder_layers": 1', '  "encoder_layers": 1,\n  "encoder_layers": 6'),
    },
    "A tab in the indentation": {
        "Transom": ("  layers: 1", "\tlayers: 1"),
        "JoeyNMT": ("    num_layers: 1", "\tnum_layers: 1"),
        "Eole": ("  layers: 1", "\tlayers: 1"),
    },
}
"""Ten mistakes: in each tool's file, what is replaced, once, and what replaces it."""
