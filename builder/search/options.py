"""What can be asked of every run of a search, as tensors."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float, Int
from torch import Tensor


class Options(NamedTuple):
    """The options of one search; None where its strategy has no such option."""

    max_length: Int[Tensor, ""]
    """In tokens, EOS counted; it only shortens."""
    min_length: Int[Tensor, ""] | None = None
    """EOS counts only from this token on; 1 asks for nothing."""
    length_penalty: Float[Tensor, ""] | None = None
    """Beams are ranked by the sum of log-probabilities / ((5 + length) / 6)^length_penalty."""
    temperature: Float[Tensor, ""] | None = None
    """Above 0; 1 leaves the probabilities as they are."""
    top_k: Int[Tensor, ""] | None = None
    """Only the likeliest so many tokens are drawn from."""
    top_p: Float[Tensor, ""] | None = None
    """Only the likeliest tokens that together reach this probability are drawn from."""
    seed: Int[Tensor, ""] | None = None
    target_prefix: Int[Tensor, "batch prefix"] | None = None
    """Tokens that every output begins with; −1 leaves a place free."""
