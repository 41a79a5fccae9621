"""Logits and a state into the next state: the search, written once for PyTorch and for ONNX."""
