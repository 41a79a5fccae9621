"""An exported ONNX file and lines of text into lines of text, with neither torch nor onnx."""
