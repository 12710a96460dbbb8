"""Executors, models and agent sessions of a project."""
