"""The four control ids, which no text turns into."""

from __future__ import annotations

PAD_ID, BOS_ID, EOS_ID, UNK_ID = range(4)

CONTROL_NAMES = ("<pad> ", "<s> ", "</s> ", "<unk> ")
"""Their names in a vocabulary, by id.

A piece of text holds a space only at its start, or is one: a name that ends in a space can
never be a piece, so a literal `</s>` stays ordinary text.
"""
