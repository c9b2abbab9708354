"""OpenAI Responses: a response object, or the list of its items with the outputs of the calls among them."""

from __future__ import annotations

from typing import Any, Final

from crucible.transcript.neutral import UNKNOWN, Arguments, NeutralRun
from crucible.transcript.readers.draft import Draft
from crucible.transcript.readers.scan import Scan
from crucible.transcript.readers.values import content, count, given, mapping, objects, said, text, tokens

_OTHERS: Final = ("reasoning", "message", "item_reference")
_ANSWERED_BY_ITEM: Final = ("function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call")


def claims(value: Any) -> bool:
    """A response object or a list of items, an empty one too."""
    if isinstance(value, list):
        typed = [_is_item(item) for item in value]
        return all(known or mapping(item).get("role") for known, item in zip(typed, value, strict=True)) and (
            any(typed) or not value
        )
    response = mapping(value)
    return response.get("object") == "response" or (isinstance(response.get("output"), list) and "status" in response)


def _is_item(value: Any) -> bool:
    kind = text(mapping(value).get("type")) or ""
    return kind in _OTHERS or kind.endswith(("_call", "_call_output"))


def read(scan: Scan, exit_code: int | None) -> NeutralRun:
    """A run from its response. A response may be complete and the run not: then its last call has no output."""
    draft = Draft(scan, exit_code, heed_damage=False)
    runs = [value for value in scan if claims(value)]
    if len(runs) > 1:
        draft.invalid(f"{len(runs)} responses in one output: that is more than one run")
    for run in runs[-1:]:
        items = list(objects(run if isinstance(run, list) else run.get("output")))
        for item in items:
            _item(draft, item)
        _usage(draft, mapping(mapping(run).get("usage")))
        _ending(draft, run, items)
    if not runs:
        draft.calls = None
    return draft.close(None if runs and isinstance(runs[-1], list) else "status")


def _item(draft: Draft, item: dict[str, Any]) -> None:
    kind = text(item.get("type")) or ""
    if kind == "message" or (not kind and "role" in item):
        if item.get("role", "assistant") == "assistant":
            draft.final_text = _words(item)
    elif kind.endswith("_call_output"):
        draft.answer(item.get("call_id"), item.get("status") != "failed", content(item.get("output")))
    elif kind.endswith("_call"):
        index = draft.ask(_tool(item, kind), _arguments(item), call_id=item.get("call_id") or item.get("id"))
        if kind not in _ANSWERED_BY_ITEM:
            _hosted(draft, index, item)


def _words(item: dict[str, Any]) -> str | None:
    refusals = [part.get("refusal") for part in objects(item.get("content"))]
    words = said(item.get("content"))
    return next((text(word) for word in refusals if text(word)), None) if words is None else words


def _tool(item: dict[str, Any], kind: str) -> Any:
    if kind == "mcp_call":
        return f"{item.get('server_label')}.{item['name']}" if text(item.get("name")) else None
    return item.get("name") if "name" in item else kind.removesuffix("_call")


def _arguments(item: dict[str, Any]) -> tuple[Arguments, str | None]:
    if "arguments" in item:
        return given(item, "arguments")
    if item.get("type") == "custom_tool_call":
        return None, text(item.get("input"))
    inner = {key: item[key] for key in ("action", "operation", "queries", "code") if item.get(key) is not None}
    return (inner or UNKNOWN), None


def _hosted(draft: Draft, index: int, item: dict[str, Any]) -> None:
    """A tool that ran at the provider says itself how it went."""
    error, status = item.get("error"), item.get("status")
    if error is not None or status in ("failed", "incomplete"):
        draft.settle(index, False, error)
    elif status == "completed" or "output" in item:
        draft.settle(index, True, content(item.get("output", item.get("results"))))


def _usage(draft: Draft, usage: dict[str, Any]) -> None:
    cached = count(mapping(usage.get("input_tokens_details")).get("cached_tokens"))
    counts = usage if cached is None else {**usage, "cached": cached}
    draft.tokens = tokens(counts, input="input_tokens", output="output_tokens", cache_read="cached")


def _ending(draft: Draft, run: Any, items: list[dict[str, Any]]) -> None:
    status = text(mapping(run).get("status"))
    why = text(mapping(mapping(run).get("incomplete_details")).get("reason"))
    if status == "incomplete" and why in ("max_output_tokens", "max_tokens"):
        draft.end_capped("tokens", why)
    elif status not in (None, "completed") or (status is None and not isinstance(run, list)):
        error = text(mapping(mapping(run).get("error")).get("message"))
        draft.end_failed(why or status, f"the response is {status}: {why or error or 'no reason given'}")
    elif items and items[-1].get("type", "message") == "message" and items[-1].get("role", "assistant") == "assistant":
        draft.end(status)
