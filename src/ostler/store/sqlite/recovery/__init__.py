"""Moves, rescues, checks and rebuilds the journal's file."""
