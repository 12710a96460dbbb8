"""The kinds of gates: criteria, command and review."""
