"""Plain numbers into the modules, masks and caches of a Transformer."""
