"""Answers as OpenAI Responses: what Codex and OpenAI's own client need of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from crucible.llm.loopback.said import SSE, Said, SaidCall, pieces
from crucible.llm.loopback.script import Counts


def body(said: Said) -> dict[str, Any]:
    """The body of a response."""
    return _response(said) | {"output": _items(said), **_end(said)} | _usage(said.usage)


def events(said: Said, request: dict[str, Any]) -> Iterator[SSE]:
    """The events of a stream, numbered. A tool that is offered within a namespace is called within it."""
    numbers = count()
    for name, data in _events(_in_namespaces(said, request)):
        yield name, {"type": name, "sequence_number": next(numbers), **data}


def _events(said: Said) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "response.created", {"response": _response(said) | {"output": [], "status": "in_progress"}}
    for index, item in enumerate(_items(said)):
        where = {"output_index": index}
        yield "response.output_item.added", where | {"item": _begun(item)}
        yield from _growing(item, where | {"item_id": item["id"]})
        yield "response.output_item.done", where | {"item": item}
    yield f"response.{_end(said)['status']}", {"response": body(said)}


def _growing(item: dict[str, Any], where: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    if item["type"] == "function_call":
        for piece in pieces(item["arguments"]):
            yield "response.function_call_arguments.delta", where | {"delta": piece}
        yield "response.function_call_arguments.done", where | {"arguments": item["arguments"]}
        return
    [part] = item["content"]
    where = where | {"content_index": 0}
    yield "response.content_part.added", where | {"part": part | {"text": ""}}
    for piece in pieces(part["text"]):
        yield "response.output_text.delta", where | {"delta": piece}
    yield "response.output_text.done", where | {"text": part["text"]}
    yield "response.content_part.done", where | {"part": part}


def _begun(item: dict[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {"arguments": ""} if item["type"] == "function_call" else {"content": []}
    return item | empty | {"status": "in_progress"}


def _items(said: Said) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if said.text:
        part = {"type": "output_text", "text": said.text, "annotations": []}
        items.append({"type": "message", "role": "assistant", "content": [part]})
    items += [
        {"type": "function_call", "call_id": call.id or "", "name": call.name, "arguments": call.arguments}
        | ({} if call.namespace is None else {"namespace": call.namespace})
        for call in said.calls
    ]
    return [{"id": f"item_{said.number}_{at}", "status": "completed", **item} for at, item in enumerate(items)]


def _in_namespaces(said: Said, request: dict[str, Any]) -> Said:
    spaces = [tool["name"] for tool in request.get("tools") or () if tool.get("type") == "namespace"]
    return replace(said, calls=tuple(_in_namespace(call, spaces) for call in said.calls))


def _in_namespace(call: SaidCall, spaces: list[str]) -> SaidCall:
    """A script names such a tool in full: `mcp__files__read` is `read` of the namespace `mcp__files`."""
    space = next((name for name in spaces if call.name.startswith(f"{name}__")), None)
    return call if space is None else replace(call, name=call.name.removeprefix(f"{space}__"), namespace=space)


def _response(said: Said) -> dict[str, Any]:
    return {"id": f"resp_{said.number}", "object": "response", "created_at": 0, "model": said.model, "error": None} | {
        "incomplete_details": None,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def _end(said: Said) -> dict[str, Any]:
    if said.finish_reason == "length":
        return {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    return {"status": "completed"}


def _usage(counts: Counts | None) -> dict[str, Any]:
    if counts is None:
        return {}
    # The provider's clients want both details to be there.
    return {
        "usage": {
            "input_tokens": counts.prompt_tokens,
            "input_tokens_details": {"cached_tokens": counts.cached_tokens or 0},
            "output_tokens": counts.completion_tokens,
            "output_tokens_details": {"reasoning_tokens": counts.reasoning_tokens or 0},
            "total_tokens": counts.prompt_tokens + counts.completion_tokens,
        }
    }
