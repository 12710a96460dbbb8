"""Isolates the command of a gate from the user's checkout."""
