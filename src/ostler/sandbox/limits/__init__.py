"""Limits of processes, memory, file size and disk use."""
