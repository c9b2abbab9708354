"""A small tool server: says hello, lists two tools, and counts what it is asked. MCP over standard input and output.

Its argument is the number of seconds after which it begins.
"""

import json
import sys
import time

TOOLS = [
    {"name": "callers", "description": "Who calls.", "inputSchema": {"type": "object", "properties": {}}},
    {"name": "rename", "description": "Rename.", "inputSchema": {"type": "object", "properties": {}}},
]
ANSWERS = {
    "initialize": lambda asked: {
        "protocolVersion": asked["params"]["protocolVersion"],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "counting", "version": "4.5.6"},
    },
    "tools/list": lambda _: {"tools": TOOLS},
    "tools/call": lambda asked: {"content": [{"type": "text", "text": f"called {asked['params']['name']}"}]},
}

time.sleep(float(sys.argv[1]) if sys.argv[1:] else 0)
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        result = ANSWERS.get(asked["method"], lambda _: {})(asked)
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
