"""Compares two commits or trees by their contents alone: no attributes, drivers or files of a checkout."""
