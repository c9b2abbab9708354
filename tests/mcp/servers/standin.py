"""An MCP server in the standard library alone, which starts fast and, when told, behaves badly.

standin.py [BEHAVIOUR ...]            on standard input and output
standin.py --port N [BEHAVIOUR ...]   streamable HTTP at /mcp, answers as JSON
"""

import json
import os
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PORT = int(sys.argv[2]) if sys.argv[1:2] == ["--port"] else None
HOW = set(sys.argv[3 if PORT else 1 :])
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NOTHING = {"type": "object", "properties": {}}


def tool(name, schema=NOTHING, **more):
    return {"name": name, "description": f"The tool {name}.", "inputSchema": schema, **more}


TOOLS = [
    tool("echo", TEXT, annotations={"readOnlyHint": True}),
    tool("write", TEXT),
    tool("big"),
    tool("hang"),
    tool("die"),
    tool("error"),
    tool("text_error"),
    tool("picture"),
    tool("structured"),
    tool("environment"),
    tool("odd"),
    tool("flood"),
]
SCHEMAS = {"bad-schema": {"type": "string"}, "array-schema": [1], "ref-schema": {"$ref": "#/$defs/A"}}


def text(what, **more):
    return {"content": [{"type": "text", "text": what}], **more}


def listed(params):
    tools = TOOLS if "few" not in HOW else TOOLS[:1]
    for how, schema in SCHEMAS.items():
        if how in HOW:
            tools = [*tools, tool("strange", schema)]
    if "dotted" in HOW:
        tools = [tool("a.b", TEXT), tool("a_b", TEXT), tool("x" * 100, TEXT)]
    if "twice" in HOW:
        tools = [*tools, tool("echo")]
    if "empty" in HOW:
        tools = []
    if "round" in HOW:
        return {"tools": tools, "nextCursor": "again"}
    if "pages" in HOW:
        at = int(params.get("cursor", 0))
        return {"tools": tools[at : at + 5], **({"nextCursor": str(at + 5)} if at + 5 < len(tools) else {})}
    return {"tools": tools}


def write(arguments):
    Path("written.txt").write_text(arguments["text"])
    return text("written")


def die(_):
    print("out of cheese", file=sys.stderr, flush=True)
    os._exit(7)


def flood(_):
    sys.stdout.buffer.write(b"x" * 70_000_000)
    sys.stdout.flush()
    return text("done")


PICTURE = [
    {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"},
    {"type": "resource_link", "uri": "file:///workspace/a.py", "name": "a", "mimeType": "text/x-python"},
    {"type": "resource", "resource": {"uri": "x://y", "blob": "aGVsbG8=", "mimeType": "application/zip"}},
    {"type": "hologram"},
]
CALLS = {
    "echo": lambda arguments: text(arguments["text"]),
    "write": write,
    "big": lambda _: text("begin" + "x" * 50_000_000 + "end"),
    "hang": lambda _: time.sleep(3600),
    "die": die,
    "error": lambda _: text("it did not work", isError=True),
    "text_error": lambda _: text('{"error": "symbol not found: X"}'),
    "picture": lambda _: {"content": PICTURE},
    "structured": lambda _: {"content": [], "structuredContent": {"found": [1, 2]}},
    "environment": lambda _: text(json.dumps({n: os.environ.get(n) for n in ("PLAIN", "STANDIN_KEY", "HOME")})),
    "flood": flood,
}


def answer(message):
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        if "hang" in HOW:
            time.sleep(3600)
        told = {"instructions": "Ask echo first.\ud800 "} if "instructs" in HOW else {}
        return {
            **told,
            "protocolVersion": "2024-11-05",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "standin", "version": "1.2.3"},
        }
    if method == "tools/list":
        if "hang-list" in HOW:
            time.sleep(3600)
        if "die-list" in HOW:
            print("list is broken", file=sys.stderr, flush=True)
            os._exit(4)
        return listed(params)
    return CALLS[params["name"]](params["arguments"])


def reply(message):
    try:
        return {"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}
    except KeyError as error:
        return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": f"Unknown tool: {error}"}}


def on_stdio():
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message:
            continue
        if message.get("params", {}).get("name") == "hang":
            continue  # never answered, and free for the next
        if message.get("params", {}).get("name") == "odd":
            sys.stdout.buffer.write(
                b'{"jsonrpc": "2.0", "id": %d, "result": {"content": [{"type": "text", "text": "\xff \\ud800"}]}}\n'
                % message["id"]
            )
        else:
            if "noise" in HOW:
                print("DEBUG: asked for", message["method"])
            print(json.dumps(reply(message)))
        sys.stdout.flush()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(reply(message)).encode() if "id" in message else b""
        self.send_response(200 if body else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send_response(405)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    def server_bind(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]


if "print-and-die" in HOW:
    print("no licence found", file=sys.stderr)
    sys.exit(3)
if PORT:
    print("listening", flush=True)
    Server(("127.0.0.1", PORT), Handler).serve_forever()
else:
    on_stdio()
