"""What other toolkits say, in several keys, of the matrices that are one."""

from __future__ import annotations

from collections.abc import Mapping

from builder.blueprint.nodes import Node, Scalar
from builder.blueprint.synonyms import plain

SIDES, OUTPUT = "source_target", "target_output"
"""Source with target embedding, and target embedding with output projection."""

TIES = {
    (SIDES,): (
        "share_source_target_embeddings share_encoder_decoder_embeddings share_embeddings "
        "tied_embeddings tied-embeddings-src share_vocab_embeddings"
    ),
    (OUTPUT,): (
        "share_decoder_embeddings tied_softmax tie_output tie_projection tied-embeddings "
        "share_decoder_input_output_embed"
    ),
    (SIDES, OUTPUT): (
        "tie_weights tie_embeddings share_all_embeddings three_way_tying tie_all_embeddings "
        "tied-embeddings-all tie_word_embeddings"
    ),
}
"""The names by what they say is one; `tied-embeddings` is Marian's, `tied_embeddings` JoeyNMT's."""
SPELLED_ALIKE = "tied-embeddings"
TAKES_SIDES_AS_ONE = plain("tie_word_embeddings")
"""Of an encoder-decoder it says whether the output is tied; the sides are unless told apart."""


def ties_of(name: str) -> tuple[str, ...]:
    """What is one where the key is true; empty for a key about something else."""
    return next((pairs for pairs, names in _NAMES if _form(name) in names), ())


def tie(section: Mapping[str, Node]) -> str:
    """Our `tie` for what all of a section's keys say together."""
    told = {key: _truth(node) for key, node in section.items() if ties_of(key)}
    one = {pair for key, holds in told.items() if holds for pair in ties_of(key)}
    if any(plain(key) == TAKES_SIDES_AS_ONE for key in told):
        one.add(SIDES)
    apart = {
        pairs[0] for key, holds in told.items() if not holds and len(pairs := ties_of(key)) < 2
    }
    left = one - apart
    return "all" if len(left) > 1 else next(iter(left), "none")


def _truth(node: Node) -> bool:
    return isinstance(node, Scalar) and node.text.lower() in ("true", "yes", "1")


def _form(name: str) -> str:
    return SPELLED_ALIKE if name.lower() == SPELLED_ALIKE else plain(name)


_NAMES = [(pairs, frozenset(map(_form, names.split()))) for pairs, names in TIES.items()]
