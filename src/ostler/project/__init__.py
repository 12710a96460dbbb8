"""Projects: the operations that the command line, the library, the web server and the MCP server use."""
