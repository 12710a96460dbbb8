"""Ostler as a tool of other agents: an MCP server."""
