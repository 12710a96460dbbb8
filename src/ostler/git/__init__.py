"""Runs git through one hardened wrapper that never executes what an agent configured in a repository."""
