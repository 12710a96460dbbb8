"""Runs agents that support the Agent Client Protocol (ACP)."""
