"""A strategy into its options: what can be asked of every single search, and what is unasked."""

from __future__ import annotations

from builder.blueprint.generation import Beam, Greedy, Sampling, Strategy

NO_LIMIT = 2**31 - 1
"""The option `max_length` where nobody asks for one."""

Options = dict[str, int | float]


def options_of(strategy: Strategy) -> Options:
    """Return the options with their defaults; those of an exported file are its inputs.

    `max_length` only shortens what the blueprint allows. What the blueprint turns off is no
    option. The beginnings of outputs are no option of this kind: they have no default.
    """
    options: Options = {"max_length": NO_LIMIT}
    if strategy.min_length > 1 or isinstance(strategy, Beam):
        options["min_length"] = strategy.min_length
    match strategy:
        case Greedy():
            pass
        case Beam():
            options["beams"] = strategy.beams
            options["n_best"] = strategy.n_best
            options["length_penalty"] = strategy.length_penalty
        case Sampling():
            options["temperature"] = strategy.temperature
            if strategy.top_k is not None:
                options["top_k"] = strategy.top_k
            if strategy.top_p is not None:
                options["top_p"] = strategy.top_p
            options["seed"] = strategy.seed
            options["n_best"] = strategy.n_best
    return options
