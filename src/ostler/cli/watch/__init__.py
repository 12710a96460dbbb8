"""The live screen of `ostler watch`."""
