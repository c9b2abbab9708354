"""Tool servers: MCP servers that run inside an attempt's sandbox and whose tools an arm gets beside the built-in ones."""
