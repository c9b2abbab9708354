"""A small finished run in every format: one call that works, one that fails, an answer."""

from __future__ import annotations

import json
from typing import Any

from crucible.transcript.neutral import NeutralRun
from crucible.transcript.readers import read_transcript

ASKED = {"ticket_id": "T-1"}
TEXT_ARGS = json.dumps(ASKED)
ANSWER = "Archived T-1."


def lines(*events: Any) -> bytes:
    """Events as they are streamed."""
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def whole(document: Any) -> bytes:
    """A document as it is printed."""
    return json.dumps(document, indent=2).encode() + b"\n"


def claude_use(name: str, tool: str = "archive", message: str = "m1", parent: str | None = None) -> dict[str, Any]:
    block = {"type": "tool_use", "id": name, "name": tool, "input": ASKED}
    return {"type": "assistant", "message": {"id": message, "content": [block]}, "parent_tool_use_id": parent}


def claude_answer(name: str, content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {
        "type": "user",
        "message": {"content": [{"type": "tool_result", "tool_use_id": name, "content": content} | more]},
    }


def claude_text(words: str, message: str = "m9") -> dict[str, Any]:
    return {"type": "assistant", "message": {"id": message, "content": [{"type": "text", "text": words}]}}


CLAUDE_INIT = {"type": "system", "subtype": "init", "tools": ["archive", "delete"]}
CLAUDE_RESULT: dict[str, Any] = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "num_turns": 3,
    "result": ANSWER,
    "stop_reason": "end_turn",
    "total_cost_usd": 0.02,
    "usage": {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 90},
    "permission_denials": [],
}
CLAUDE = [
    CLAUDE_INIT,
    claude_use("c1"),
    claude_answer("c1"),
    claude_use("c2", message="m2"),
    claude_answer("c2", "locked", is_error=True),
    claude_text(ANSWER),
    CLAUDE_RESULT,
]


def codex_item(name: str, event: str = "item.completed", **more: Any) -> dict[str, Any]:
    call = {"id": name, "type": "mcp_tool_call", "server": "board", "tool": "archive", "arguments": ASKED}
    return {"type": event, "item": call | {"result": None, "error": None, "status": "completed"} | more}


CODEX_OK = {"content": [{"type": "text", "text": "ok"}], "structured_content": None}
CODEX_END = {"type": "turn.completed", "usage": {"input_tokens": 95, "cached_input_tokens": 90, "output_tokens": 7}}
CODEX = [
    {"type": "thread.started", "thread_id": "t"},
    {"type": "turn.started"},
    codex_item("i1", "item.started", status="in_progress"),
    codex_item("i1", result=CODEX_OK),
    codex_item("i2", error={"message": "locked"}, status="failed"),
    {"type": "item.completed", "item": {"id": "i3", "type": "agent_message", "text": ANSWER}},
    CODEX_END,
]


def gemini_use(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "tool_name": "archive", "tool_id": name, "parameters": ASKED}


GEMINI_LOCKED = {"type": "tool_result", "tool_id": "g2", "status": "error", "error": {"message": "locked"}}
GEMINI_STATS = {"input_tokens": 95, "output_tokens": 7, "cached": 90, "tool_calls": 2}
GEMINI_END: dict[str, Any] = {"type": "result", "status": "success", "stats": GEMINI_STATS}
GEMINI = [
    {"type": "init", "session_id": "s", "model": "m"},
    {"type": "message", "role": "user", "content": "Tidy up."},
    gemini_use("g1"),
    {"type": "tool_result", "tool_id": "g1", "status": "success", "output": "ok"},
    {"type": "message", "role": "assistant", "content": "Once more.", "delta": True},
    gemini_use("g2"),
    GEMINI_LOCKED,
    {"type": "message", "role": "assistant", "content": "Archived ", "delta": True},
    {"type": "message", "role": "assistant", "content": "T-1.", "delta": True},
    GEMINI_END,
]
GEMINI_JSON: dict[str, Any] = {
    "session_id": "s",
    "response": ANSWER,
    "stats": {
        "models": {"m": {"tokens": {"input": 5, "prompt": 95, "candidates": 7, "cached": 90}}},
        "tools": {"totalCalls": 2, "byName": {"archive": {"count": 2, "success": 1, "fail": 1}}},
    },
}

MINI: dict[str, Any] = {
    "info": {"model_stats": {"instance_cost": 0.02, "api_calls": 3}, "exit_status": "Submitted", "submission": ANSWER},
    "messages": [
        {"role": "user", "content": "Tidy up."},
        {"role": "assistant", "content": "```ls```", "extra": {"actions": [{"command": "ls"}]}},
        {"role": "user", "content": "<output>ok</output>", "extra": {"raw_output": "ok", "returncode": 0}},
        {"role": "assistant", "content": "", "extra": {"actions": [{"command": "cat x"}]}},
        {"role": "user", "content": "<output>locked</output>", "extra": {"raw_output": "locked", "returncode": 1}},
        {"role": "exit", "content": ANSWER, "extra": {"exit_status": "Submitted"}},
    ],
    "trajectory_format": "mini-swe-agent-1.1",
}


def openhands_action(name: str, tool: str = "archive", **more: Any) -> dict[str, Any]:
    request = {"id": name, "name": tool, "arguments": TEXT_ARGS}
    action = {"kind": "MCPToolAction", "data": ASKED}
    event = {"kind": "ActionEvent", "source": "agent", "tool_name": tool, "tool_call_id": name, "tool_call": request}
    return event | {"action": action} | more


def openhands_answer(name: str, words: str, *, failed: bool = False) -> dict[str, Any]:
    observation = {"kind": "MCPToolObservation", "content": [{"type": "text", "text": words}], "is_error": failed}
    event = {"kind": "ObservationEvent", "source": "environment", "tool_name": "archive", "tool_call_id": name}
    return event | {"observation": observation}


def openhands_state(value: str) -> dict[str, Any]:
    kind = "ConversationStateUpdateEvent"
    return {"kind": kind, "source": "environment", "key": "execution_status", "value": value}


OPENHANDS_FINISH = openhands_action("h3", "finish", action={"kind": "FinishAction", "message": ANSWER})
OPENHANDS = [
    openhands_action("h1"),
    openhands_answer("h1", "ok"),
    openhands_action("h2"),
    openhands_answer("h2", "locked", failed=True),
    OPENHANDS_FINISH,
]


def chat_call(name: str, arguments: str = TEXT_ARGS) -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": "archive", "arguments": arguments}}


CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "Tidy up."},
    {"role": "assistant", "content": None, "tool_calls": [chat_call("o1"), chat_call("o2")]},
    {"role": "tool", "tool_call_id": "o2", "content": "second"},
    {"role": "tool", "tool_call_id": "o1", "content": "first"},
    {"role": "assistant", "content": ANSWER},
]

RESPONSES: dict[str, Any] = {
    "object": "response",
    "status": "completed",
    "output": [
        {"type": "function_call", "call_id": "r1", "name": "archive", "arguments": TEXT_ARGS},
        {"type": "function_call_output", "call_id": "r1", "output": "ok"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]},
    ],
    "usage": {"input_tokens": 95, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 90}},
}


def span(
    span_id: str, parent: str, name: str, start: int, failed: str | None = None, **attributes: Any
) -> dict[str, Any]:
    """One span with its attributes as OTLP writes them: whole numbers as strings."""
    kinds = {str: "stringValue", int: "intValue", bool: "boolValue"}
    pairs = [{"key": k, "value": {kinds[type(v)]: str(v) if type(v) is int else v}} for k, v in attributes.items()]
    status = {} if failed is None else {"code": 2, "message": failed}
    times = {"startTimeUnixNano": str(start), "endTimeUnixNano": str(start + 5)}
    return {
        "traceId": "t",
        "spanId": span_id,
        "parentSpanId": parent,
        "name": name,
        "attributes": pairs,
        "status": status,
    } | times


def export(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def agent_span(name: str = "a", parent: str = "", start: int = 1, **more: Any) -> dict[str, Any]:
    return span(name, parent, "invoke_agent x", start, **{"gen_ai.operation.name": "invoke_agent"}, **more)


def tool_span(name: str, parent: str, start: int, tool: str = "archive", **more: Any) -> dict[str, Any]:
    known = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "gen_ai.tool.call.arguments": TEXT_ARGS}
    return span(name, parent, f"execute_tool {tool}", start, **known | more)


def chat_span(name: str, parent: str, start: int, messages: Any = None, **more: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": 50,
        "gen_ai.usage.output_tokens": 3,
    }
    told = {} if messages is None else {"gen_ai.output.messages": json.dumps(messages)}
    return span(name, parent, "chat m", start, **known | told | more)


def reply(*parts: dict[str, Any], finish: str = "stop") -> list[dict[str, Any]]:
    return [{"role": "assistant", "parts": list(parts), "finish_reason": finish}]


OTEL = export(
    agent_span(),
    chat_span("s5", "a", 60, reply({"type": "text", "content": ANSWER})),
    chat_span("s1", "a", 10, reply(finish="tool_call")),
    tool_span("s4", "a", 50, failed="locked"),
    tool_span("s2", "a", 20, **{"gen_ai.tool.call.result": "ok"}),
)

NAMES = {"result": ANSWER, "tools": ["archive", "archive"], "num_turns": 3, "total_cost_usd": 0.02}

SAMPLES: dict[str, bytes] = {
    "claude-stream": lines(*CLAUDE),
    "claude-json": whole(CLAUDE_RESULT),
    "codex": lines(*CODEX),
    "gemini-stream": lines(*GEMINI),
    "gemini-json": whole(GEMINI_JSON),
    "mini-swe-agent": whole(MINI),
    "openhands": lines(*OPENHANDS),
    "openai-chat": whole(CHAT),
    "openai-responses": whole(RESPONSES),
    "otel": whole(OTEL),
    "tool-names": whole(NAMES),
}
"""By the name of its format."""

STREAMS = ("claude-stream", "codex", "gemini-stream", "openhands")


def read(*events: Any, exit_code: int | None = None) -> NeutralRun:
    """What is read of these events."""
    return read_transcript(lines(*events), exit_code=exit_code)


def read_whole(document: Any, exit_code: int | None = None) -> NeutralRun:
    """What is read of this document."""
    return read_transcript(whole(document), exit_code=exit_code)
