"""Accepts the work of tasks: merges, pull requests, rebases, and what became of them."""
