"""The engines that a benchmark compares, each in a process of its own."""
