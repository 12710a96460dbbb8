"""Worktrees, checkouts and their setup."""
