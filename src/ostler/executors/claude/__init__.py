"""Runs Claude Code."""
