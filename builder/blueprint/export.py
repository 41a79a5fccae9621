"""The `export` section: the form of the ONNX file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from builder.blueprint.section import Section, Word, whole

Points = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
"""A difference between two percentages."""


class Float32(Section):
    """Numbers as in training: four bytes each."""

    kind: Literal["float32"]


class Float16(Section):
    """Weights of two bytes each: half the file."""

    kind: Literal["float16"]
    max_drop: Points = 1.0
    """How many points of the metric (percent) it may cost; a file that costs more is refused."""


class Int8(Section):
    """Matrices and tables of one byte for each number, with scales: a quarter of the file."""

    kind: Literal["int8"]
    weights: Literal["int7", "uint8"] = "int7"
    """How a weight fills its byte: half of the 256 steps, with a sign, which is quicker, or all of
    them without one. A signed byte in full is no choice: processors without VNNI overflow on
    it."""
    max_drop: Points = 1.0
    """How many points of the metric (percent) it may cost; a file that costs more is refused."""


Precision = Annotated[Float32 | Float16 | Int8, Field(discriminator="kind"), Word]


class Proof(Section):
    """What the file tells of the comparison with PyTorch that it has passed."""

    embed: bool = False
    """The file also carries the run's own proof lines, which are your data."""


class Export(Section):
    """What the exported file holds."""

    precision: Precision = Float32(kind="float32")
    """How the numbers in the file are kept."""
    opset: Annotated[Literal[20], BeforeValidator(whole)] = 20
    """Version of the ONNX operators."""
    options: Literal["defaults", "inputs"] = "defaults"
    """Whether options such as `max_length` are inputs with a default, which may be left out, or
    plain ones: JavaScript ignores the former, and Java refuses them."""
    proof: Proof = Proof()
