"""Moves the commits of a task between machines through a remote."""
