"""Immutable values that the other packages exchange; no I/O."""
