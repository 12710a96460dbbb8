"""Atomic writes, safe paths, locks and file formats."""
