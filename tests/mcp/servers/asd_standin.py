#!/usr/bin/env python3
"""Stands in for AgentStateDeveloper: the same commands, tool names, arguments, result shapes and quirks.

Called `asd` it indexes, called `asd-mcp` it serves. Its quirks: a log in the workspace, a registry in the home folder
unless told otherwise, errors as ordinary text, and sixty-odd tools of which an arm wants eight.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

WANTED = {
    "code_search": ["query*", "kind", "language", "limit", "include_tests"],
    "code_read": ["qname*"],
    "callers": ["qname*"],
    "callees": ["qname*"],
    "references": ["name*", "path", "limit", "globs"],
    "investigate": ["query*", "depth", "kind", "language", "include_tests"],
    "context_for": ["qnames*", "budget_tokens", "include_body"],
    "impact": ["qname*", "depth", "git_depth"],
}
OTHERS = [
    *("code_query", "search", "prepare_change", "checklist", "since", "architecture", "dead_code", "endpoints"),
    *("effects", "trust", "status", "health", "help", "reindex", "sync", "map", "traces", "ledger_get", "scorecard"),
]
Row = dict[str, Any]


def index(database: Path) -> None:
    """Index the working folder; says so in a log there, as the real one does."""
    rows = [row for file in sorted(Path().rglob("*.py")) for row in symbols(file)]
    database.write_text(json.dumps(rows))
    Path(".asd").mkdir(exist_ok=True)
    Path(".asd/index.log").write_text(f"indexed {len(rows)} symbols\n")
    if os.environ.get("ASD_NO_AUTO_REGISTER") != "1":
        registry = Path.home() / ".config/asd/repos.toml"
        registry.parent.mkdir(parents=True, exist_ok=True)
        registry.write_text("[[repo]]\n")
    print(json.dumps({"files": len({row["file"] for row in rows}), "symbols": len(rows)}))


def symbols(file: Path) -> Iterator[Row]:
    text = file.read_text("utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            calls = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
            yield {
                "qname": f"{'.'.join(file.with_suffix('').parts)}.{node.name}",
                "file": file.as_posix(),
                "line": node.lineno,
                "doc": (ast.get_docstring(node) or "").partition("\n")[0],
                "body": ast.get_source_segment(text, node),
                "calls": [c.id if isinstance(c, ast.Name) else getattr(c, "attr", "") for c in calls],
            }


def brief(row: Row) -> Row:
    return {"qname": row["qname"], "file": f"{row['file']}:{row['line']}", "signature": row["qname"], "doc": row["doc"]}


def answer(rows: list[Row], tool: str, given: Row) -> Any:
    named = str(given.get("qname") or given.get("name") or given.get("query") or given.get("qnames") or "")
    last = named.rsplit(".", 1)[-1]
    exact = [row for row in rows if row["qname"] == named or row["qname"].rsplit(".", 1)[-1] == last]
    if tool == "code_search":
        return {"matches": [brief(r) for r in rows if last in r["qname"]], "query_id": "Q0000001"}
    if not exact:
        return {"error": f"symbol not found: {named}"}
    if tool == "callers":
        return {"callers": [brief(row) for row in rows if last in row["calls"]]}
    return {"symbol": brief(exact[0]), "body": exact[0]["body"]} if tool == "code_read" else [brief(r) for r in exact]


def specification(name: str, arguments: Sequence[str]) -> Row:
    properties = {argument.rstrip("*"): {"type": "string"} for argument in arguments}
    required = [argument[:-1] for argument in arguments if argument.endswith("*")]
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": f"ASD: {name}", "inputSchema": schema}


def serve() -> None:
    rows = json.loads(Path(os.environ["ASD_DB"]).read_text())
    tools = [specification(name, arguments) for name, arguments in {**dict.fromkeys(OTHERS, ()), **WANTED}.items()]
    print("asd-mcp: ready", file=sys.stderr)
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result: Row = {}
        if request["method"] == "initialize":
            result = {
                "protocolVersion": "2024-11-05",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "asd-mcp", "version": "1.4.2"},
            }
        elif request["method"] == "tools/list":
            result = {"tools": tools}
        elif request["method"] == "tools/call":
            said = answer(rows, request["params"]["name"], request["params"].get("arguments") or {})
            result = {"content": [{"type": "text", "text": json.dumps(said)}]}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


if __name__ == "__main__":
    if Path(sys.argv[0]).name == "asd-mcp":
        serve()
    elif sys.argv[1:] == ["--version"]:
        print("asd 1.4.2")
    elif sys.argv[1] == "--db" and sys.argv[3:] == ["index", "."]:
        index(Path(sys.argv[2]))
    else:
        sys.exit(f"asd: what is {sys.argv[1:]}?")
