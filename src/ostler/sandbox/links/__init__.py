"""Finds links from the environment of a gate to the user's checkout, by reading files only."""
