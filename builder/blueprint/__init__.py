"""YAML text into a frozen, fully resolved `Blueprint`, and what that blueprint will cost."""
