"""A cheap guess of the size of a request, before it is sent."""

from __future__ import annotations

import json
from math import ceil

from crucible.llm.types import Request
from crucible.transcript.messages import Message, ToolSpec

BYTES_PER_TOKEN = 3
"""Fewer than any current tokenizer needs for code or prose, so that the guess errs upwards."""
PER_MESSAGE = 8
PER_CALL = 16
PER_TOOL = 16


def estimate_tokens(request: Request) -> int:
    """A guess of the input tokens of a request that errs upwards; no tokenizer is loaded."""
    schema = json.dumps(request.response_schema) if request.response_schema else ""
    return (
        sum(_message(message) for message in request.messages)
        + sum(_tool(tool) for tool in request.tools)
        + _text(schema)
    )


def _message(message: Message) -> int:
    calls = sum(PER_CALL + _text(call.name + call.raw_arguments) for call in message.tool_calls)
    return PER_MESSAGE + _text(message.content) + calls


def _tool(tool: ToolSpec) -> int:
    return PER_TOOL + _text(tool.name + tool.description + json.dumps(tool.parameters))


def _text(text: str) -> int:
    return ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN)
