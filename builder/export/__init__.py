"""A trained run into one ONNX file, proved against PyTorch before it takes its name."""
