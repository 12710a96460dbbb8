"""Backs up, checks and rebuilds the journal of a project."""
