"""Runs the git program with a safe environment and configuration."""
