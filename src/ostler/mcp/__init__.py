"""The MCP server: other AI tools create, read and decide tasks with it."""
