"""Runs a script instead of a model, for demonstrations and tests."""
