"""A blueprint and its data into trained weights, checkpoints and a log."""
