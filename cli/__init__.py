"""Commands: arguments into one library call each."""
