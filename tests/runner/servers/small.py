"""An MCP server with two tools. small.py [clock] [mute] [no-start]: `clock` describes its tools anew at every start, `mute`
fails every call, `no-start` ends at once."""

import json
import sys
import time

HOW = set(sys.argv[1:])
if "no-start" in HOW:
    sys.exit("no licence")
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
SINCE = f" Started at {time.time_ns()}." if "clock" in HOW else ""
TOOLS = [
    {"name": name, "description": f"Finds {name}.{SINCE}", "inputSchema": SCHEMA} for name in ("callers", "callees")
]


def answer(method, params):
    if method == "initialize":
        version = params.get("protocolVersion", "2024-11-05")
        return {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "small", "version": "3"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call" and "mute" not in HOW:
        return {"content": [{"type": "text", "text": f"{params['name']} of {params['arguments']['name']}: page"}]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": "not today"}], "isError": True}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
