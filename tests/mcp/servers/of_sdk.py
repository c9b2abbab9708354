"""A server made with the SDK, as most are: standard streams, or streamable HTTP with a port."""

import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("of-sdk", version="9")


@server.tool()
def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


@server.tool()
def where() -> str:
    """The working directory."""
    return str(Path.cwd())


if len(sys.argv) > 1:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    server.run("stdio")
