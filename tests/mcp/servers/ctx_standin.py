#!/usr/bin/env python3
"""Stands in for CTXone's `ctxone-hub` on stdio: the same flags, tool names, arguments and quirks.

Its quirks: unknown flags end it with 64, writes are refused without a namespace, and every text carries a trailer.
"""

from __future__ import annotations

import json
import sys
from typing import Any

TOOLS = {
    "remember": ["fact*", "importance", "context", "tags", "ref"],
    "recall": ["topic*", "budget", "ref"],
    "prime": ["source*", "pinned", "sections*", "ref"],
    "context": ["project*", "ref"],
    "summarize_session": ["session_id*", "key_points*", "decisions"],
    "what_changed_since": ["since*"],
    "why_did_we": ["decision*"],
    "project_status": [],
    "forget": ["path*", "reason"],
    "plan_new": ["title*"],
    "code_search": ["query*"],
    "branches": [],
}
WRITES = ("remember", "prime", "summarize_session", "forget")
FLAGS = ("--storage", "--namespace", "--agent-id", "--path")


def flags(words: list[str]) -> dict[str, str]:
    given = dict(zip(words[::2], words[1::2], strict=False))
    if set(given) - set(FLAGS):
        sys.exit(64)
    return given


def answer(facts: list[str], namespace: str | None, tool: str, given: dict[str, Any]) -> str:
    if tool in WRITES and namespace is None:
        return json.dumps({"error": "write refused: no explicit namespace"})
    if tool == "remember":
        facts.append(str(given["fact"]))
        return json.dumps({"stored": f"/memory/{len(facts)}"})
    if tool == "recall":
        return json.dumps({"facts": [fact for fact in facts if str(given["topic"]).lower() in fact.lower()]})
    return json.dumps({"tool": tool, "facts": len(facts)})


def specification(name: str, arguments: list[str]) -> dict[str, Any]:
    properties = {argument.rstrip("*"): {"type": "string"} for argument in arguments}
    required = [argument[:-1] for argument in arguments if argument.endswith("*")]
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": f"CTX: {name}", "inputSchema": schema}


def serve(namespace: str | None) -> None:
    facts: list[str] = []
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result: dict[str, Any] = {}
        if request["method"] == "initialize":
            result = {
                "protocolVersion": "2024-11-05",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "ctxone", "version": "0.9.0"},
                "instructions": "Remember what you find out.",
            }
        elif request["method"] == "tools/list":
            result = {"tools": [specification(name, arguments) for name, arguments in TOOLS.items()]}
        elif request["method"] == "tools/call":
            params = request["params"]
            said = answer(facts, namespace, params["name"], params.get("arguments") or {})
            result = {"content": [{"type": "text", "text": f'{said}\n_ctxone_stats:{{"facts": {len(facts)}}}'}]}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


if __name__ == "__main__":
    serve(flags(sys.argv[1:]).get("--namespace"))
