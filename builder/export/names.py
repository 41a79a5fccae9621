"""Names of a network's parameters back to the weights that the exporter has transposed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import onnx_ir as ir

from builder.export.int8 import home_of_weights, is_weight, numbers

PREFIX = "model."
"""Under which the exporter names the parameters that it leaves as they are."""


def restore_names(graph: ir.Model, parameters: Mapping[str, np.ndarray]) -> None:
    """Call every matrix of `graph` that equals the transpose of a parameter by its name."""
    known = {_fingerprint(array.T): name for name, array in parameters.items() if array.ndim == 2}
    initializers = home_of_weights(graph.graph).initializers
    for value in list(initializers.values()):
        if not is_weight(value) or str(value.name).startswith(PREFIX):
            continue
        name = PREFIX + known.get(_fingerprint(numbers(value)), "")
        if name != PREFIX and name not in initializers:
            value.name = name


def _fingerprint(array: np.ndarray) -> tuple[tuple[int, ...], bytes]:
    return array.shape, hashlib.sha256(np.ascontiguousarray(array).tobytes()).digest()
