"""Forms to write where a section lacks a key that it needs."""

from __future__ import annotations

from builder.blueprint.nodes import KeyPath

SECTIONS = {
    "tokenizer": "tokenizer: char",
    "data": "data: {train: {path: train.tsv}, valid: {path: valid.tsv}}",
    "training": "training: {minutes: 10}",
}
"""A short form of each section that training needs and a blueprint may lack."""

NEEDED = {
    ("learned", "max_length"): "512",
    ("window", "before"): "64",
    ("block", "size"): "64",
    ("prefix", "length"): "16",
    ("bpe", "vocab_size"): "8000",
    ("inverse_sqrt", "learning_rate"): "5e-4",
    ("constant", "learning_rate"): "1e-4",
}
"""A value for each key that a `kind` needs."""

FORMS = {
    "train": "{path: train.tsv}",
    "valid": "{path: valid.tsv}",
    "path": "train.tsv",
    "builtin": "dates",
    "model": "{d_model: 256, layers: 3}",
    "transom": "1",
    "name": "my-model",
}
"""A value for other keys that are needed."""
PAIRS = {
    "vocab_size": "{source: 8000, target: 8000}",
    "columns": "{source: 1, target: 2}",
    "tokenizer": "{source: char, target: char}",
}
"""A whole section that has two sides, by its key; any other one names two files."""
FILES = "{source: train.en, target: train.de}"


def example(path: KeyPath, kind: str) -> str:
    """What to write for the missing key at `path`, whose section is of the `kind`, if of any."""
    *above, key = map(str, path)
    section = next((part for part in reversed(path[:-1]) if isinstance(part, str)), "")
    if (kind, key) in NEEDED:
        form = f"{{kind: {kind}, {key}: {NEEDED[kind, key]}}}"
        return form if isinstance(path[-2], int) else f"{section}: {form}"
    if key in ("source", "target") and above:
        return f"{section}: {PAIRS.get(section, FILES)}"
    if key in FORMS:
        return f"{key}: {FORMS[key]}"
    return ""
