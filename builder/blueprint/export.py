"""The `export` section: the form of the ONNX file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator

from builder.blueprint.section import Section, whole


class Export(Section):
    """What the exported file holds."""

    precision: Literal["float32"] = "float32"
    """Type of the numbers in the file."""
    opset: Annotated[Literal[20], BeforeValidator(whole)] = 20
    """Version of the ONNX operators."""
