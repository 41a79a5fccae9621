"""Random blueprints, and what must hold of every one of them."""
