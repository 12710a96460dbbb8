"""Pipelines: reading their files, and running them as sets of tasks."""
