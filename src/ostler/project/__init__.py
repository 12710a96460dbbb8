"""A project: what the command line, the library and later the web and MCP servers are clients of."""
