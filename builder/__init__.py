"""Transom: a YAML blueprint of a Transformer into one ONNX file that generates."""

__version__ = "0.1.0"
